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
from shared.store import Store
from tests.support.executors import executor
from tests.support.path_play import waiting
from tests.support.rehearsed import Rehearsed, rehearsed
from tests.support.stack import Person, working
from tests.support.store import STORE
from tests.support.walking import walked

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


async def opens(bus: Bus, person: Person, done: Session) -> None:
    """What plan_store folded is what the log says, and the page is shown the whole walk."""
    assert done.rest_reason == "answered", (done.failure, done.answer.text)
    kept = await Store(bus).load(person.id, at_least=(await person.load()).position)
    assert kept.session == done
    seen = snapshot(kept.session)
    assert seen.path is not None
    assert [tool.partition(".")[2] for tool in seen.path.walked] == walked(done)
    assert (seen.path.planned_execution_path, seen.path.remaining) == (seen.path.walked, ())
    assert (seen.path.current_path_index, seen.path.fallback) == (len(seen.path.walked) - 1, False)


async def test_a_request_of_each_flow_ends_and_can_be_opened(settings: Settings, bus: Bus) -> None:
    async with folding(settings), rehearsed(settings) as model, working(model.settings, model.model):
        bob, ann = await says(bus, "asks", QUESTION), await says(bus, "complains", COMPLAINT)
        asked = await bob.phase("resting", "failed")
        await allows(ann, await ann.phase("awaiting_approval", "resting", "failed"))
        complained = await ann.phase("resting", "failed")
        await opens(bus, bob, asked)
        await opens(bus, ann, complained)
    pending = sum(order["status"] == "pending" for order in STORE["orders"].values())
    assert str(pending) in asked.answer.text
    assert walked(complained) == WAY
    assert await refunds(settings) == len(ORDER["payment_history"])


class Mortal:
    """One executor at a time; `dies` kills it and starts the next."""

    def __init__(self, model: Rehearsed) -> None:
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
async def mortal(settings: Settings) -> AsyncIterator[Mortal]:
    async with folding(settings), rehearsed(settings) as model, AsyncExitStack() as opened:
        one = Mortal(model)
        await one.begins()
        opened.push_async_callback(one.ends)
        await opened.enter_async_context(working(model.settings, model.model, "planner", "verifier", "generator"))
        yield one


async def dies_when_it_begins(one: Mortal, bus: Bus, session: Session, node: str) -> asyncio.Event:
    """The executor is killed as soon as this node is recorded as begun; the event is set then."""
    assert session.turn
    (meant,) = (action.spec.id for action in session.turn.actions if action.spec.tool == f"complaint_triage.{node}")
    died = asyncio.Event()

    async def stored(_: str, data: bytes) -> None:
        event = parse_event(data)
        begun = [action.action_id for action in event.actions] if isinstance(event, facts.ActionsStarted) else []
        if meant in begun and not died.is_set():
            died.set()
            await one.dies()

    await bus.subscribe(f"feed.{session.id}.>", stored)
    return died


@pytest.mark.timeout(90)
async def test_executors_that_are_killed_within_nodes_leave_the_path_as_it_would_have_been(
    settings: Settings, bus: Bus
) -> None:
    async with mortal(settings) as one:
        await one.model.fault(task="complaint_triage.assess", latency=HANGS, times=1)
        ann = await says(bus, "complains", COMPLAINT)
        await one.model.until(lambda calls: any(call["task"].endswith("assess") for call in calls), seconds=30)
        await one.dies()  # while the model is asked
        asked = await ann.phase("awaiting_approval", "resting", "failed", seconds=40)
        died = await dies_when_it_begins(one, bus, asked, "cancel_order")
        await allows(ann, asked)
        done = await ann.phase("resting", "failed", "awaiting_input", seconds=40)
        assert died.is_set()
        assert (done.rest_reason, walked(done)) == ("answered", WAY), (done.phase, done.failure, done.question)
        finished = [
            one.action_id
            for event in await ann.events()
            if isinstance(event, facts.ActionsFinished)
            for one in event.outcomes
        ]
        assert len(finished) == len(set(finished)) == len(WAY)
        assert one.deaths == [-9, -9]
    assert await refunds(settings) == len(ORDER["payment_history"])
