"""Approved writes while executors are killed: each happened exactly once, or is said to be in doubt; none is missing.

`PARLEY_SESSIONS=200` runs the long one; by default there are fewer, and the kills come just as often: one for two
sessions, each at any moment after some action has begun, so that those who are killed were at work.
"""

import asyncio
import json
import os
import random
import re
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from packs.retail.store import Worlds
from parley.events import facts, parse_event
from services.generator.agentflow_prompt import AnswerDraft
from services.plan_store.app import PlanStore
from services.planner.agentflow_prompt import NothingToDo, Planned, TurnDraft
from shared.bus import Bus
from shared.domain import commands as c
from shared.llm import Prompt, ScriptedModel
from shared.llm.scripted import Scripted
from shared.settings import Settings
from tests.support.executors import executor
from tests.support.stack import Person, working
from tests.support.store import STORE

SESSIONS = int(os.environ.get("PARLEY_SESSIONS", "10"))
AT_ONCE = 12
SEED = int(os.environ.get("PARLEY_SEED", "7"))


class Clerk(ScriptedModel):
    """A model that cancels the order which the request names: look up the customer, the order, then cancel."""

    def reply_to(self, prompt: Prompt) -> Scripted:
        if prompt.role == "planner":
            return self._turn(prompt.data)
        return AnswerDraft(text="Done.", confidence=1)

    @staticmethod
    def _turn(text: str) -> TurnDraft | NothingToDo:
        request = json.loads(re.findall(r"^<request>\n(.*)\n</request>$", text, re.MULTILINE)[0])
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
    """Two executors as processes of their own, one of which is killed now and then, and started again."""

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
                await asyncio.sleep(dice.uniform(0, 0.2))  # the fault itself: at any moment of the others' work
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
    plan_store, executors = PlanStore(settings), Executors(settings)
    await plan_store.start()
    await asyncio.gather(executors.start(), executors.start())
    killing = asyncio.create_task(executors.kill_some(bus, random.Random(SEED)))
    try:
        yield executors
    finally:
        killing.cancel()
        with suppress(asyncio.CancelledError):
            await killing
        await executors.stop()
        await plan_store.stop()


async def cancels(bus: Bus, session_id: str, order: Any) -> list[Any]:
    """One session from its request to its end; its events."""
    ann = Person(bus, session_id)
    email = STORE["users"][order["user_id"]]["email"]
    request = json.dumps({"email": email, "order_id": order["order_id"]})
    await ann.does(c.Say(text=request, workflow="agentflow"))
    waiting = await ann.phase("awaiting_approval", seconds=120)
    assert waiting.turn
    action = waiting.turn.actions[0]
    await ann.does(c.Approve(version=waiting.version, action_id=action.spec.id, hash=action.hash))
    await ann.phase("resting", "failed", "awaiting_input", seconds=120)
    return await ann.events()


def fate(events: list[Any]) -> str:
    """What the journal says of the write: "done", "in doubt", or "failed"."""
    write = next(e.actions[0].id for e in events if isinstance(e, facts.TurnPlanned) and e.actions[0].effect == "write")
    for event in events:
        if isinstance(event, facts.ActionUncertain) and event.action_id == write:
            return "in doubt"
        if isinstance(event, facts.ActionsFinished):
            for outcome in (outcome for outcome in event.outcomes if outcome.action_id == write):
                return "done" if outcome.ok else "failed"
    return "missing"


@pytest.mark.timeout(900)
async def test_approved_writes_happen_once_while_executors_are_killed(settings: Settings, bus: Bus) -> None:
    orders = [order for order in STORE["orders"].values() if order["status"] == "pending"][:SESSIONS]
    assert len(orders) == SESSIONS
    slots = asyncio.Semaphore(AT_ONCE)

    async def cancel_order(number: int, order: Any) -> str:
        async with slots:
            return fate(await cancels(bus, f"once-{number}", order))

    async with (
        killed_at_random(settings, bus) as executors,
        working(settings, Clerk(), "planner", "verifier", "generator"),
    ):
        fates = await asyncio.gather(*(cancel_order(number, order) for number, order in enumerate(orders)))
    worlds = Worlds(settings.retail_url, lambda: STORE)
    await worlds.open()
    after: Any = await worlds.world("shared").dump()
    await worlds.close()
    counted = {fate: fates.count(fate) for fate in sorted(set(fates))}
    print(f"seed {SEED}: {SESSIONS} sessions, {executors.kills} executors killed, writes {counted}")
    assert executors.kills == SESSIONS // 2
    assert set(counted) <= {"done", "in doubt"}
    for order, came_of_it in zip(orders, fates, strict=True):
        changed = after["orders"][order["order_id"]]
        refunds = [entry for entry in changed["payment_history"] if entry["transaction_type"] == "refund"]
        happened = changed["status"] == "cancelled"
        assert len(refunds) == len(order["payment_history"]) * happened  # once, or not at all
        assert happened or came_of_it == "in doubt"
    untouched = set(STORE["orders"]) - {order["order_id"] for order in orders}
    assert all(after["orders"][name] == STORE["orders"][name] for name in untouched)
    assert balances(after) == balances(
        STORE, cancelled=[o for o in orders if after["orders"][o["order_id"]]["status"] == "cancelled"]
    )


def balances(store: Any, cancelled: Sequence[Any] = ()) -> dict[str, float]:
    """Every gift card's balance, with what these cancelled orders give back."""
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
