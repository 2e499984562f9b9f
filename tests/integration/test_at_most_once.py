"""Approved writes while executors are killed: each happens exactly once or is reported as uncertain; none is lost.

By default there are 6 sessions; `PARLEY_SESSIONS=200` is the long run. There is one kill for every two sessions, at a
random moment up to 0.2 seconds after an action began, so that executors are killed during work.
"""

import asyncio
import json
import os
import random
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from parley.events import facts, parse_event
from services.generator.agentflow import AnswerDraft
from services.planner.agentflow_prompt import NothingToDo, Planned, TurnDraft
from shared.bus import Bus
from shared.llm import Prompt, ScriptedModel
from shared.llm.scripted import Scripted
from shared.settings import Settings
from tests.support.executors import executor
from tests.support.stack import Person, running_plan_store, working
from tests.support.store import STORE, store_now

SESSIONS = int(os.environ.get("PARLEY_SESSIONS", "6"))
AT_ONCE = 12
SEED = int(os.environ.get("PARLEY_SEED", "7"))


class CancellingModel(ScriptedModel):
    """A model that looks up the request's customer and order, then cancels the order."""

    def reply_to(self, prompt: Prompt) -> Scripted:
        if prompt.role == "planner":
            return self._turn(prompt)
        return AnswerDraft(text="Done.", confidence=1)

    @staticmethod
    def _turn(prompt: Prompt) -> TurnDraft | NothingToDo:
        request, text = json.loads(prompt.sections("request")[0]), prompt.data
        order = {"order_id": request["order_id"]}
        if '"tool": "find_user_id_by_email"' not in text:
            return TurnDraft(
                sub_goal="who", actions=[Planned(tool="find_user_id_by_email", arguments={"email": request["email"]})]
            )
        if '"tool": "get_order_details"' not in text:
            return TurnDraft(sub_goal="look", actions=[Planned(tool="get_order_details", arguments=order)])
        if '"tool": "cancel_pending_order"' in text:
            return NothingToDo(reason="It is done.")
        cancel = Planned(tool="cancel_pending_order", arguments=order | {"reason": "no longer needed"})
        return TurnDraft(sub_goal="cancel", actions=[cancel], final=True)


class Executors:
    """Two executor processes; a random one is killed again and again, and replaced."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._running: list[asyncio.subprocess.Process] = []
        self.kills = 0

    async def start(self) -> None:
        self._running.append(await executor(self._settings))

    async def kill_some(self, bus: Bus, dice: random.Random) -> None:
        started = asyncio.Event()

        async def stored(_: str, data: bytes) -> None:
            event = parse_event(data)
            if event.begins or isinstance(event, facts.ActionsStarted):
                started.set()

        feed = await bus.subscribe("feed.>", stored)
        try:
            while self.kills < SESSIONS // 2:
                started.clear()
                await started.wait()
                await asyncio.sleep(dice.uniform(0, 0.2))  # kill at a random moment of the work
                victim = self._running.pop(dice.randrange(len(self._running)))
                victim.kill()
                await victim.wait()
                self.kills += 1
                await self.start()
        finally:
            await feed.stop()

    async def stop(self) -> None:
        for process in self._running:
            with suppress(ProcessLookupError):
                process.terminate()
        await asyncio.gather(*(process.wait() for process in self._running))


@asynccontextmanager
async def killed_at_random(settings: Settings, bus: Bus) -> AsyncIterator[Executors]:
    executors = Executors(settings)
    await asyncio.gather(executors.start(), executors.start())
    killing = asyncio.create_task(executors.kill_some(bus, random.Random(SEED)))
    try:
        async with running_plan_store(settings):
            yield executors
    finally:
        killing.cancel()
        with suppress(asyncio.CancelledError):
            await killing
        await executors.stop()


async def run_cancellation(bus: Bus, session_id: str, order: Any) -> list[Any]:
    """Run one session from request to end, with its approval. Returns its events."""
    ann = Person(bus, session_id)
    email = STORE["users"][order["user_id"]]["email"]
    request = json.dumps({"email": email, "order_id": order["order_id"]})
    await ann.says(request, "agentflow")
    await ann.allows()
    await ann.phase("resting", "failed", "awaiting_input")
    return await ann.events()


def write_outcome(events: list[Any]) -> str:
    """The outcome of the write according to the events: "done", "in doubt", "failed" or "missing"."""
    write = next(e.actions[0].id for e in events if isinstance(e, facts.TurnPlanned) and e.actions[0].effect == "write")
    for event in events:
        if isinstance(event, facts.ActionUncertain) and event.action_id == write:
            return "in doubt"
        if isinstance(event, facts.ActionsFinished):
            for outcome in (outcome for outcome in event.outcomes if outcome.action_id == write):
                return "done" if outcome.ok else "failed"
    return "missing"


@pytest.mark.timeout(900)
@pytest.mark.redelivers
async def test_approved_writes_happen_once_while_executors_are_killed(settings: Settings, bus: Bus) -> None:
    orders = [order for order in STORE["orders"].values() if order["status"] == "pending"][:SESSIONS]
    assert len(orders) == SESSIONS
    slots = asyncio.Semaphore(AT_ONCE)

    async def cancel_order(number: int, order: Any) -> str:
        async with slots:
            return write_outcome(await run_cancellation(bus, f"once-{number}", order))

    async with (
        killed_at_random(settings, bus) as executors,
        working(settings, CancellingModel(), "planner", "verifier", "generator"),
    ):
        outcomes = await asyncio.gather(*(cancel_order(number, order) for number, order in enumerate(orders)))
    after = await store_now(settings)
    counted = {outcome: outcomes.count(outcome) for outcome in sorted(set(outcomes))}
    print(f"seed {SEED}: {SESSIONS} sessions, {executors.kills} executors killed, writes {counted}")
    assert executors.kills == SESSIONS // 2
    assert set(counted) <= {"done", "in doubt"}
    for order, outcome in zip(orders, outcomes, strict=True):
        changed = after["orders"][order["order_id"]]
        refunds = [entry for entry in changed["payment_history"] if entry["transaction_type"] == "refund"]
        happened = changed["status"] == "cancelled"
        assert len(refunds) == len(order["payment_history"]) * happened  # each payment is refunded once, or not at all
        assert happened or outcome == "in doubt"
    untouched = set(STORE["orders"]) - {order["order_id"] for order in orders}
    assert all(after["orders"][name] == STORE["orders"][name] for name in untouched)
    assert balances(after) == balances(
        STORE, cancelled=[o for o in orders if after["orders"][o["order_id"]]["status"] == "cancelled"]
    )


def balances(store: Any, cancelled: Sequence[Any] = ()) -> dict[str, float]:
    """The balance of every gift card, plus the refunds for these cancelled orders."""
    balance_by_id = {
        method["id"]: float(method["balance"])
        for user in store["users"].values()
        for method in user["payment_methods"].values()
        if "balance" in method
    }
    for order in cancelled:
        for payment in order["payment_history"]:
            if payment["payment_method_id"] in balance_by_id:
                balance_by_id[payment["payment_method_id"]] = round(
                    balance_by_id[payment["payment_method_id"]] + payment["amount"], 2
                )
    return balance_by_id
