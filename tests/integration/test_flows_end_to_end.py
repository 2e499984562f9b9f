"""Flows through all services on a real nats-server, with the rehearsal model.

One request of each flow runs to its end, and its session can be opened. A request whose executor is killed within a
node ends with the same result.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import pytest

from parley.events import facts, parse_event
from parley.events.values import SessionSettings
from shared.bus import Bus
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.settings import Settings
from tests.support.executors import executor
from tests.support.flow_walk import walked
from tests.support.rehearsal_server import RehearsalServer, rehearsal_server
from tests.support.stack import Person, running_plan_store, working
from tests.support.store import STORE, orders_now

ORDER: Any = next(order for order in STORE["orders"].values() if order["status"] == "pending")
EMAIL = STORE["users"][ORDER["user_id"]]["email"]
COMPLAINT = f"I no longer need order {ORDER['order_id']}, please cancel it. My e-mail is {EMAIL}."
COMPLAINT_PATH = ["classify_complaint", "find_customer", "read_order", "assess", "cancel_order", "write_reply"]
LATENCY = 120.0  # seconds; longer than the test, so that only a killed executor waits for this reply


async def start_session(bus: Bus, session_id: str, text: str) -> Person:
    ann = Person(bus, session_id)
    await ann.does(c.Say(text=text, workflow="flow", settings=SessionSettings(confirm="nothing")))
    return ann


async def count_refunds(settings: Settings) -> int:
    order = (await orders_now(settings))[ORDER["order_id"]]
    return sum(entry["transaction_type"] == "refund" for entry in order["payment_history"])


class KillableExecutor:
    """One executor process at a time; `restart_killed` kills it and starts the next."""

    def __init__(self, model: RehearsalServer) -> None:
        self.model = model
        self.exit_codes: list[int] = []

    async def start(self) -> None:
        self._process = await executor(self.model.settings)

    async def restart_killed(self) -> None:
        self._process.kill()
        self.exit_codes.append(await self._process.wait())
        await self.start()

    async def stop(self) -> None:
        with suppress(ProcessLookupError):
            self._process.terminate()
        await self._process.wait()


@asynccontextmanager
async def killable_executor(settings: Settings) -> AsyncIterator[KillableExecutor]:
    async with running_plan_store(settings), rehearsal_server(settings) as model, AsyncExitStack() as stack:
        running_executor = KillableExecutor(model)
        await running_executor.start()
        stack.push_async_callback(running_executor.stop)
        await stack.enter_async_context(working(model.settings, model.model, "planner", "verifier", "generator"))
        yield running_executor


async def kill_at_start_of(executor: KillableExecutor, bus: Bus, session: Session, node: str) -> asyncio.Event:
    """Kill the executor as soon as the log says that this node has begun. Returns an event that is set at the kill."""
    assert session.turn
    (target,) = (action.spec.id for action in session.turn.actions if action.spec.tool == f"complaint_triage.{node}")
    killed = asyncio.Event()

    async def stored(_: str, data: bytes) -> None:
        event = parse_event(data)
        begun = [action.action_id for action in event.actions] if isinstance(event, facts.ActionsStarted) else []
        if target in begun and not killed.is_set():
            killed.set()
            await executor.restart_killed()

    await bus.subscribe(f"feed.{session.id}.>", stored)
    return killed


@pytest.mark.redelivers
async def test_a_path_is_unchanged_when_executors_are_killed_within_nodes(settings: Settings, bus: Bus) -> None:
    async with killable_executor(settings) as killable:
        await killable.model.fault(task="complaint_triage.assess", latency=LATENCY, times=1)
        ann = await start_session(bus, "complains", COMPLAINT)
        await killable.model.wait_for_calls(lambda calls: any(call["task"].endswith("assess") for call in calls))
        await killable.restart_killed()  # during the call of the model
        paused = await ann.phase("awaiting_approval", "resting", "failed")
        killed = await kill_at_start_of(killable, bus, paused, "cancel_order")
        await ann.allows()
        session = await ann.phase("resting", "failed", "awaiting_input")
        assert killed.is_set()
        assert (session.rest_reason, walked(session)) == ("answered", COMPLAINT_PATH), (
            session.phase,
            session.failure,
            session.question,
        )
        finished = [
            outcome.action_id
            for event in await ann.events()
            if isinstance(event, facts.ActionsFinished)
            for outcome in event.outcomes
        ]
        assert len(finished) == len(set(finished)) == len(COMPLAINT_PATH)
        assert killable.exit_codes == [-9, -9]
    assert await count_refunds(settings) == len(ORDER["payment_history"])
