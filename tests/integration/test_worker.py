"""Workers: each piece of work makes one model call and one event, and ends, whatever fails."""

import asyncio
import json
from typing import Any

import pytest
from pydantic import BaseModel

from parley.events import dump_event
from parley.events.values import SessionSettings
from parley.protocol.server import Delta
from services.planner.conversation import PlanDraft, draft_plan
from shared.bus import Bus, Delivery, Unprocessable
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.domain.rules.decide import decide
from shared.domain.rules.worker_commands import WorkerCommand
from shared.llm import ModelFailed, ScriptedModel
from shared.log import LogUnavailable, SessionAtPosition
from shared.settings import Settings
from shared.story import Story
from shared.testing import InMemoryLog, InMemoryStore
from shared.worker import Drafts, Handler, WorkContext, Worker, WorkerDeps
from shared.worker.worker import StopNotRecorded
from tests.conftest import person
from tests.support.inbox import Inbox, consuming, store, until_idle
from tests.support.rehearsal_server import rehearsal_server
from tests.support.stack import Person, working
from tests.support.timeouts import WAIT_TIMEOUT

PLAN = PlanDraft(goal="A calculator", steps=["Ask", "Add", "Print"])


class PlannerInMemory:
    """One planner with a log in memory, and a user's commands in the session `s`."""

    def __init__(self, *replies: BaseModel | Exception, handler: Handler = draft_plan) -> None:
        self.log = InMemoryLog()
        self.model = ScriptedModel(*replies)
        self.store = InMemoryStore(self.log)
        deps = WorkerDeps("planner", self.store, self.log, self.model, Drafts(None), Settings())
        self.worker = Worker(deps, handler)
        self.story = Story("s", log=self.log)

    async def does(self, command: Any) -> Delivery:
        await self.story.commit(command)
        return self.newest

    @property
    def newest(self) -> Delivery:
        raw = self.log.messages[-1]
        return Delivery(raw.subject, raw.data, raw.position, 1)

    async def session(self) -> Session:
        return await self.story.load()

    async def event_types(self) -> list[str]:
        return [event.type for event in await self.store.events("s") if event.type != "usage.recorded"]


# --- one message, delivered more than once


async def test_a_redelivery_makes_no_further_model_call(session_id: str) -> None:
    planner = PlannerInMemory(PLAN)
    work = await planner.does(c.Say(text="A calculator"))
    await planner.worker.on_delivery(work)
    await planner.worker.on_delivery(work._replace(deliveries=2))
    assert len(planner.model.prompts) == 1
    assert await planner.event_types() == ["message.received", "plan.drafted"]


class CachingStore:
    """A store that returns a cached state if its position is at least the requested one."""

    def __init__(self, store: InMemoryStore, cached: SessionAtPosition) -> None:
        self._store, self._cached = store, cached

    async def load(self, session_id: str, *, at_least: int = 0, version: int | None = None) -> SessionAtPosition:
        if 0 < at_least <= self._cached.position:
            return self._cached
        return await self._store.load(session_id, at_least=at_least, version=version)


async def test_a_redelivery_loads_the_newest_state_although_the_store_caches_an_older_one() -> None:
    planner = PlannerInMemory(PLAN)
    work = await planner.does(c.Say(text="A calculator"))
    store = CachingStore(planner.store, await planner.store.load("s"))
    await planner.worker.on_delivery(work)
    deps = WorkerDeps("planner", store, planner.log, planner.model, Drafts(None), Settings())
    await Worker(deps, draft_plan).on_delivery(work._replace(deliveries=2))
    assert len(planner.model.prompts) == 1
    assert await planner.event_types() == ["message.received", "plan.drafted"]


class Gate:
    """A handler that waits for the event `go` before it drafts the plan."""

    def __init__(self) -> None:
        self.entered, self.go = asyncio.Event(), asyncio.Event()
        self.versions: list[int] = []

    async def __call__(self, context: WorkContext) -> WorkerCommand | None:
        self.versions.append(context.work.version if context.work else 0)
        self.entered.set()
        await self.go.wait()
        return await draft_plan(context)


async def test_a_redelivery_during_the_work_waits_and_makes_no_further_model_call() -> None:
    gate = Gate()
    planner = PlannerInMemory(PLAN, handler=gate)
    work = await planner.does(c.Say(text="A calculator"))
    first = asyncio.create_task(planner.worker.on_delivery(work))
    await gate.entered.wait()
    second = asyncio.create_task(planner.worker.on_delivery(work._replace(deliveries=2)))
    await asyncio.sleep(0)
    assert not second.done(), "an acknowledgement now could lose the work"
    gate.go.set()
    await asyncio.gather(first, second)
    assert len(planner.model.prompts) == 1
    assert await planner.event_types() == ["message.received", "plan.drafted"]


async def test_the_sessions_next_work_is_not_lost_while_the_previous_one_ends() -> None:
    """The retry's work is delivered before the stopped task has ended."""
    gate = Gate()
    planner = PlannerInMemory(PLAN, handler=gate)
    first = asyncio.create_task(planner.worker.on_delivery(await planner.does(c.Say(text="A calculator"))))
    await gate.entered.wait()
    stop = await planner.does(c.Stop())
    again = asyncio.create_task(planner.worker.on_delivery(await planner.does(c.Retry())))
    await asyncio.sleep(0)
    gate.entered.clear()
    await planner.worker.on_stopped("feed.s.nobody.session.stopped", stop.data)
    await asyncio.wait_for(gate.entered.wait(), WAIT_TIMEOUT)
    await planner.worker.on_stopped("feed.s.nobody.session.stopped", stop.data)  # late: it ended the previous work
    gate.go.set()
    await asyncio.gather(first, again)
    assert gate.versions == [1, 3]
    assert await planner.event_types() == ["message.received", "session.stopped", "session.retried", "plan.drafted"]


@pytest.mark.parametrize("body", [b"garbage", b'{"type":"session.stopped"}'])
async def test_an_invalid_stop_stops_nothing(body: bytes) -> None:
    gate = Gate()
    planner = PlannerInMemory(PLAN, handler=gate)
    working = asyncio.create_task(planner.worker.on_delivery(await planner.does(c.Say(text="A calculator"))))
    await gate.entered.wait()
    await planner.worker.on_stopped("feed.s.nobody.session.stopped", body)
    gate.go.set()
    await working
    assert (await planner.event_types())[-1] == "plan.drafted"


async def test_a_stop_that_the_session_did_not_accept_loses_no_work() -> None:
    """The feed carries every stored event; the session did not accept this stop, so its work is still due."""
    gate = Gate()
    planner = PlannerInMemory(PLAN, handler=gate)
    work = await planner.does(c.Say(text="A calculator"))
    stop = decide((await planner.store.load("s")).session, c.Stop(), person())
    unaccepted_stop = dump_event(stop.model_copy(update={"version": 99}))
    first = asyncio.create_task(planner.worker.on_delivery(work))
    await gate.entered.wait()
    planner.log.publish("session.s.nobody.session.stopped", unaccepted_stop)
    await planner.worker.on_stopped("feed.s.nobody.session.stopped", unaccepted_stop)
    with pytest.raises(StopNotRecorded):
        await first
    gate.go.set()
    await planner.worker.on_delivery(work._replace(deliveries=2))
    assert await planner.event_types() == ["message.received", "plan.drafted"]


async def test_a_stop_missing_from_the_feed_ends_the_work_at_its_next_call() -> None:
    """The worker sees the stop when it records the usage of a call, and makes no further call."""

    async def call_model_twice(context: WorkContext) -> WorkerCommand | None:
        await draft_plan(context)
        return await draft_plan(context)

    planner = PlannerInMemory(PLAN, PLAN, handler=call_model_twice)
    work = await planner.does(c.Say(text="A calculator"))
    loaded = await planner.store.load("s")
    await planner.does(c.Stop())
    planner.store.load = lambda *_, **__: asyncio.sleep(0, loaded)  # type: ignore[method-assign]
    await planner.worker.on_delivery(work)
    assert len(planner.model.prompts) == 1
    assert [raw.subject.rsplit(".", 1)[1] for raw in planner.log.messages] == ["received", "stopped", "recorded"]


@pytest.mark.parametrize("body", [b"garbage", b"{}", b'{"type":"message.received","text":"x"}'])
async def test_a_message_that_is_not_an_event_is_unprocessable(body: bytes) -> None:
    with pytest.raises(Unprocessable, match="not an event"):
        await PlannerInMemory().worker.on_delivery(Delivery("session.s.planner.x", body, 1, 1))


async def test_an_event_on_another_sessions_subject_is_unprocessable() -> None:
    planner = PlannerInMemory()
    work = await planner.does(c.Say(text="A calculator"))
    with pytest.raises(Unprocessable, match="it is of session s"):
        await planner.worker.on_delivery(work._replace(subject="session.other.planner.message.received"))


# --- work that goes wrong


async def test_a_handlers_error_fails_the_session_and_a_retry_succeeds() -> None:
    broken = [True]

    async def fail_once(context: WorkContext) -> WorkerCommand | None:
        if broken.pop() if broken else False:
            raise ZeroDivisionError("division by zero")
        return await draft_plan(context)

    planner = PlannerInMemory(PLAN, handler=fail_once)
    await planner.worker.on_delivery(await planner.does(c.Say(text="A calculator")))
    failure = (await planner.session()).failure
    assert failure
    assert (failure.stage, failure.retryable) == ("planning", True)
    assert failure.reason == "The planner met an error of its own: ZeroDivisionError: division by zero"
    await planner.worker.on_delivery(await planner.does(c.Retry()))
    assert (await planner.session()).is_awaiting_user


async def test_a_result_that_no_event_can_hold_is_a_failure() -> None:
    planner = PlannerInMemory(PLAN.model_copy(update={"goal": "x" * 60_000}), PLAN)
    await planner.worker.on_delivery(await planner.does(c.Say(text="A calculator")))
    failure = (await planner.session()).failure
    assert failure
    assert "cannot be recorded: `goal` may have 50000 characters at most" in failure.reason
    huge = PLAN.model_copy(update={"notes": "x" * 300_000})
    other = PlannerInMemory(huge)
    await other.worker.on_delivery(await other.does(c.Say(text="A calculator")))
    failure = (await other.session()).failure
    assert failure
    assert "262144 are allowed" in failure.reason


async def test_a_failed_models_raw_reply_is_recorded() -> None:
    planner = PlannerInMemory(ModelFailed("the reply is not valid", raw="Sorry, I"))
    await planner.worker.on_delivery(await planner.does(c.Say(text="A calculator")))
    failure = (await planner.session()).failure
    assert failure
    assert (failure.reason, failure.raw) == ("the reply is not valid", "Sorry, I")
    assert (await planner.session()).spent.calls == 1


async def test_while_the_log_is_unavailable_nothing_fails() -> None:
    planner = PlannerInMemory(PLAN)
    work = await planner.does(c.Say(text="A calculator"))
    planner.log.faults = [LogUnavailable("away")]
    with pytest.raises(LogUnavailable):
        await planner.worker.on_delivery(work)
    assert await planner.event_types() == ["message.received"]


async def test_at_a_spent_budget_the_planner_asks_and_continues_once_it_is_raised() -> None:
    planner = PlannerInMemory(PLAN, PLAN)
    small_budget = SessionSettings(token_budget=10)
    await planner.worker.on_delivery(await planner.does(c.Say(text="A calculator", settings=small_budget)))
    await planner.worker.on_delivery(await planner.does(c.Say(text="Another one")))
    question = (await planner.session()).question
    assert question
    assert question.about == "budget"
    assert len(planner.model.prompts) == 1
    await planner.worker.on_delivery(await planner.does(c.RaiseBudget(tokens=1000)))
    assert (await planner.session()).counts.plans == 2


# --- drafts on the bus


async def test_deltas_add_up_to_the_text_and_the_current_draft_can_be_requested(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    person = Person(bus, session_id)
    deltas: asyncio.Queue[Delta] = asyncio.Queue()

    async def on_delta(_: str, body: bytes) -> None:
        deltas.put_nowait(Delta.model_validate_json(body))

    await bus.subscribe(f"delta.{session_id}.>", on_delta)
    async with rehearsal_server(settings) as server, working(server.settings, server.model, "planner"):
        await server.fault(token_delay=0.02, times=1)
        await person.does(c.Say(text="Help me create a simple calculator"))
        text = ""
        while text.count("\n") < 4:
            delta = await asyncio.wait_for(deltas.get(), WAIT_TIMEOUT)
            text = text[: delta.offset] + delta.text
        so_far = Delta.model_validate_json(await bus.request(f"draft.get.{session_id}", b""))
        assert (so_far.offset, so_far.draft_id, so_far.kind) == (0, delta.draft_id, "plan")
        assert so_far.text.startswith(text)
        plan = (await person.phase("awaiting_approval")).plan
    assert plan
    while not deltas.empty():
        delta = deltas.get_nowait()
        text = text[: delta.offset] + delta.text
    assert text == plan.text.partition("\n\nNotes:")[0]


async def test_two_replicas_share_the_sessions(settings: Settings, bus: Bus, session_id: str) -> None:
    people = [Person(bus, f"{session_id}{n}") for n in range(8)]
    async with (
        rehearsal_server(settings) as server,
        working(server.settings, server.model, "planner"),
        working(server.settings, server.model, "planner"),
    ):
        await asyncio.gather(*(user.does(c.Say(text="Help me create a simple calculator")) for user in people))
        await asyncio.gather(*(user.phase("awaiting_approval") for user in people))
        await until_idle(bus)
        assert len(await server.calls()) == len(people)
    for user in people:
        kinds = [event.type for event in await user.events()]
        assert sorted(kinds) == ["message.received", "plan.drafted"]


async def test_a_workers_invalid_message_becomes_a_dead_letter_and_others_are_handled(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    person, dead = Person(bus, session_id), Inbox()
    async with (
        rehearsal_server(settings) as server,
        working(server.settings, server.model, "planner"),
        consuming(settings, dead, durable="dead_letters"),
    ):
        await store(bus, b"garbage", subject="session.x.planner.x")
        await person.does(c.Say(text="Help me create a simple calculator"))
        await person.phase("awaiting_approval")
        await dead.until(1)
    assert json.loads(dead.got[0].data)["reason"] == "not an event: 1 problems"
