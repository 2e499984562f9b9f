"""Executors are killed right before a write: it happens exactly once, and every path ends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from parley.events import SessionEvent, facts, parse_event
from parley.events.values import SessionSettings
from services.plan_store.app import PlanStore
from shared.bus import Bus
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.settings import Settings
from tests.support.executors import executor
from tests.support.flow_walk import walked
from tests.support.rehearsal_server import RehearsalServer, rehearsal_server
from tests.support.stack import Person, working
from tests.support.store import STORE, orders_now

PAIRS = 2  # each is a question and a complaint
PENDING = [order for order in STORE["orders"].values() if order["status"] == "pending"]
COMPLAINT_PATH = ["classify_complaint", "find_customer", "read_order", "assess", "cancel_order", "write_reply"]


async def kill_before_changes(settings: Settings, bus: Bus, processes: list[asyncio.subprocess.Process]) -> None:
    """Kill the only executor at each `turn.changed` whose next node writes, then start another one."""
    writes: asyncio.Queue[SessionEvent] = asyncio.Queue()

    async def stored(_: str, data: bytes) -> None:
        event = parse_event(data)
        if isinstance(event, facts.TurnChanged) and event.actions[0].effect == "write":
            writes.put_nowait(event)

    feed = await bus.subscribe("feed.>", stored)
    try:
        while await writes.get():
            processes[-1].kill()
            await processes[-1].wait()
            processes.append(await executor(settings))
    finally:
        await feed.stop()


@asynccontextmanager
async def killing_executors(
    settings: Settings, bus: Bus
) -> AsyncIterator[tuple[RehearsalServer, list[asyncio.subprocess.Process]]]:
    """Kill executors before writes. Yields the model and all executor processes; only the last one runs."""
    async with rehearsal_server(settings) as model:
        plan_store = PlanStore(model.settings)
        await plan_store.start()
        processes = [await executor(model.settings)]
        killing = asyncio.create_task(kill_before_changes(model.settings, bus, processes))
        try:
            yield model, processes
        finally:
            killing.cancel()
            with suppress(asyncio.CancelledError):
                await killing
            processes[-1].terminate()
            await processes[-1].wait()
            await plan_store.stop()


async def run_question(bus: Bus, number: int) -> Session:
    ann = Person(bus, f"asks-{number}")
    session_settings = SessionSettings(confirm="nothing")
    await ann.does(c.Say(text="How many orders are pending?", workflow="flow", settings=session_settings))
    return await ann.phase("resting", "failed")


async def run_complaint(bus: Bus, number: int) -> Session:
    order: Any = PENDING[number]
    ann = Person(bus, f"complains-{number}")
    email = STORE["users"][order["user_id"]]["email"]
    text = f"I want to complain: I no longer need order {order['order_id']}, please cancel it. My e-mail is {email}."
    session_settings = SessionSettings(confirm="nothing", approval="never")
    await ann.does(c.Say(text=text, workflow="flow", settings=session_settings))
    return await ann.phase("resting", "failed")


@pytest.mark.long
@pytest.mark.redelivers
async def test_every_path_ends_and_every_change_is_made_once(settings: Settings, bus: Bus) -> None:
    async with (
        killing_executors(settings, bus) as (model, processes),
        working(model.settings, model.model, "planner", "verifier", "generator"),
    ):
        complaints = await asyncio.gather(*(run_complaint(bus, number) for number in range(PAIRS)))
        questions = await asyncio.gather(*(run_question(bus, number) for number in range(PAIRS)))
    for complaint in complaints:
        assert (complaint.rest_reason, walked(complaint)) == ("answered", COMPLAINT_PATH), (
            complaint.phase,
            complaint.answer.text,
            complaint.failure,
        )
    for question in questions:
        assert str(len(PENDING) - PAIRS) in question.answer.text, (
            question.phase,
            question.answer.text,
            question.failure,
        )
    assert [process.returncode for process in processes[:-1]] == [-9] * PAIRS
    after = await orders_now(settings)
    for order in PENDING[:PAIRS]:
        payments = after[order["order_id"]]["payment_history"]
        refunds = [entry for entry in payments if entry["transaction_type"] == "refund"]
        assert len(refunds) == len(order["payment_history"])
