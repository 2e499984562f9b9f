"""One request of each flow through all services on a real server, opened afterwards; and one whose executors are killed
in the middle of a node, which ends as if nothing had happened.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from typing import Any

import pytest

from packs.retail.store import Worlds
from parley.events import facts, parse_event
from parley.events.values import SessionSettings
from services.gateway.views.messages import snapshot
from services.plan_store.app import PlanStore
from shared.bus import Bus
from shared.domain import commands as c
from shared.domain.session import Session
from shared.settings import Settings
from shared.store import PlanStoreClient
from tests.support.executors import executor
from tests.support.flow_walk import walked
from tests.support.path_play import waiting
from tests.support.rehearsal_server import RehearsalServer, rehearsal_server
from tests.support.stack import Person, working
from tests.support.store import STORE

ORDER: Any = next(order for order in STORE["orders"].values() if order["status"] == "pending")
EMAIL = STORE["users"][ORDER["user_id"]]["email"]
QUESTION = "How many orders are pending?"
COMPLAINT = f"I no longer need order {ORDER['order_id']}, please cancel it. My e-mail is {EMAIL}."
WAY = ["classify_complaint", "find_customer", "read_order", "assess", "cancel_order", "write_reply"]
HANGS = 120.0  # seconds, longer than the test: only whoever is killed waits for it


async def says(bus: Bus, session_id: str, text: str) -> Person:
    ann = Person(bus, session_id)
    await ann.does(c.Say(text=text, workflow="flow", settings=SessionSettings(confirm="nothing")))
    return ann


async def allows(ann: Person, session: Session) -> None:
    assert session.phase == "awaiting_approval", (session.failure, session.answer.text)
    action = waiting(session)
    await ann.does(c.Approve(version=session.version, action_id=action.spec.id, hash=action.hash))


async def refunds(settings: Settings) -> int:
    worlds = Worlds(settings.retail_url, lambda: STORE)
    await worlds.open()
    after: Any = (await worlds.world("shared").dump())["orders"][ORDER["order_id"]]
    await worlds.close()
    return sum(entry["transaction_type"] == "refund" for entry in after["payment_history"])


@asynccontextmanager
async def folding(settings: Settings) -> AsyncIterator[None]:
    plan_store = PlanStore(settings)
    await plan_store.start()
    try:
        yield
    finally:
        await plan_store.stop()


async def assert_views_match(bus: Bus, person: Person, session: Session) -> None:
    """What plan_store folded is what the log says, and the page is shown the whole walk."""
    assert session.rest_reason == "answered", (session.failure, session.answer.text)
    stored = await PlanStoreClient(bus).load(person.id, at_least=(await person.load()).position)
    assert stored.session == session
    observed = snapshot(stored.session)
    assert observed.path is not None
    assert [tool.partition(".")[2] for tool in observed.path.walked] == walked(session)
    assert (observed.path.planned_execution_path, observed.path.remaining) == (observed.path.walked, ())
    assert (observed.path.current_path_index, observed.path.fallback) == (len(observed.path.walked) - 1, False)


async def test_a_request_of_each_flow_ends_and_can_be_opened(settings: Settings, bus: Bus) -> None:
    async with folding(settings), rehearsal_server(settings) as model, working(model.settings, model.model):
        bob, ann = await says(bus, "asks", QUESTION), await says(bus, "complains", COMPLAINT)
        session = await bob.phase("resting", "failed")
        await allows(ann, await ann.phase("awaiting_approval", "resting", "failed"))
        complained = await ann.phase("resting", "failed")
        await assert_views_match(bus, bob, session)
        await assert_views_match(bus, ann, complained)
    pending = sum(order["status"] == "pending" for order in STORE["orders"].values())
    assert str(pending) in session.answer.text
    assert walked(complained) == WAY
    assert await refunds(settings) == len(ORDER["payment_history"])


class KillableExecutor:
    """One executor at a time; `dies` kills it and starts the next."""

    def __init__(self, model: RehearsalServer) -> None:
        self.model = model
        self.deaths: list[int] = []

    async def begins(self) -> None:
        self._process = await executor(self.model.settings)

    async def dies(self) -> None:
        self._process.kill()
        self.deaths.append(await self._process.wait())
        await self.begins()

    async def ends(self) -> None:
        with suppress(ProcessLookupError):
            self._process.terminate()
        await self._process.wait()


@asynccontextmanager
async def killable_executor(settings: Settings) -> AsyncIterator[KillableExecutor]:
    async with folding(settings), rehearsal_server(settings) as model, AsyncExitStack() as opened:
        item = KillableExecutor(model)
        await item.begins()
        opened.push_async_callback(item.ends)
        await opened.enter_async_context(working(model.settings, model.model, "planner", "verifier", "generator"))
        yield item


async def kill_at_start_of(executor: KillableExecutor, bus: Bus, session: Session, node: str) -> asyncio.Event:
    """The executor is killed as soon as this node is recorded as begun; the event is set then."""
    assert session.turn
    (meant,) = (action.spec.id for action in session.turn.actions if action.spec.tool == f"complaint_triage.{node}")
    died = asyncio.Event()

    async def stored(_: str, data: bytes) -> None:
        event = parse_event(data)
        begun = [action.action_id for action in event.actions] if isinstance(event, facts.ActionsStarted) else []
        if meant in begun and not died.is_set():
            died.set()
            await executor.dies()

    await bus.subscribe(f"feed.{session.id}.>", stored)
    return died


@pytest.mark.timeout(90)
async def test_executors_that_are_killed_within_nodes_leave_the_path_as_it_would_have_been(
    settings: Settings, bus: Bus
) -> None:
    async with killable_executor(settings) as outcome:
        await outcome.model.fault(task="complaint_triage.assess", latency=HANGS, times=1)
        ann = await says(bus, "complains", COMPLAINT)
        await outcome.model.wait_for_calls(
            lambda calls: any(call["task"].endswith("assess") for call in calls), seconds=30
        )
        await outcome.dies()  # while the model is asked
        paused = await ann.phase("awaiting_approval", "resting", "failed", seconds=40)
        died = await kill_at_start_of(outcome, bus, paused, "cancel_order")
        await allows(ann, paused)
        session = await ann.phase("resting", "failed", "awaiting_input", seconds=40)
        assert died.is_set()
        assert (session.rest_reason, walked(session)) == ("answered", WAY), (
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
        assert len(finished) == len(set(finished)) == len(WAY)
        assert outcome.deaths == [-9, -9]
    assert await refunds(settings) == len(ORDER["payment_history"])
