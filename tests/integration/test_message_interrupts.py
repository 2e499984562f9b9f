"""A message that comes while planner or generator works ends the model call, and the work begins again with it."""

import asyncio
from functools import partial

import pytest

from parley.events import Due, SessionEvent
from parley.events.values import Service
from parley.reply import WordsDraft
from services.generator import app
from services.generator.agentflow import AnswerDraft
from services.plan_store.app import PlanStore
from services.planner.conversation import PlanDraft, draft_plan
from shared.bus import Bus, Delivery
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import Command
from shared.domain.kernel.session import Session
from shared.domain.rules.worker_commands import WorkerCommand
from shared.llm.scripted import Scripted
from shared.log import LogUnavailable, SessionAtPosition, StoredMessage
from shared.settings import Settings
from shared.story import Story
from shared.testing import InMemoryLog, InMemoryStore
from shared.worker import Drafts, Handler, Worker, WorkerDeps
from shared.worker.context import MAX_RESTARTS
from tests.support.executors import process_of
from tests.support.held_tools import HeldModel
from tests.support.rehearsal_server import rehearsal_server
from tests.support.stack import working
from tests.support.timeouts import WAIT_TIMEOUT
from tests.support.watcher import REQUEST, Watcher

PLAN = PlanDraft(goal="A calculator", steps=["Ask", "Add", "Print"])
NOTHING_LEFT = c.PlanTurn(sub_goal="Nothing is left to do", actions=(), reasoning="It is done.")
WORDS = WordsDraft(text="Because it is short.")


async def no_rules(_: tuple[str, ...]) -> tuple[str, ...]:
    return ()


write = partial(app.write, rules_of=no_rules)


class WorkerInMemory:
    """One worker on a log in memory, whose model writes until the test lets it go on."""

    def __init__(
        self,
        *replies: Scripted,
        handler: Handler = draft_plan,
        log: InMemoryLog | None = None,
        store: type[InMemoryStore] = InMemoryStore,
    ) -> None:
        self.log = log or InMemoryLog()
        self.model = HeldModel(*replies)
        self.story = Story("s", log=self.log)
        self.handler, self.store = handler, store
        self.worker = self.replica()

    def replica(self) -> Worker:
        service: Service = "generator" if self.handler is write else "planner"
        deps = WorkerDeps(service, self.store(self.log), self.log, self.model, Drafts(None), Settings())
        return Worker(deps, self.handler)

    async def does(self, command: Command | WorkerCommand) -> Delivery:
        await self.story.commit(command)  # type: ignore[arg-type]
        raw = self.log.messages[-1]
        return Delivery(raw.subject, raw.data, raw.position, 1)

    async def says(self, text: str, worker: Worker | None = None) -> Delivery:
        """The person says this, and the worker hears of it."""
        said = await self.does(c.Say(text=text))
        await self.signal(worker)
        return said

    async def signal(self, worker: Worker | None = None, session_id: str = "s") -> None:
        await (worker or self.worker).on_message(f"feed.{session_id}.x.message.received", self.log.messages[-1].data)

    async def begin(self, work: Delivery) -> asyncio.Task[None]:
        """Begin the work, up to where its model writes."""
        self.model.writing.hold()
        working = asyncio.create_task(self.worker.on_delivery(work))
        await self.model.writing.arrived()
        return working

    async def session(self) -> Session:
        return await self.story.load()

    async def accounts(self) -> list[tuple[str, int, int | None]]:
        """Each event's type, how many calls it accounts for, and up to which version it has read."""
        events = await InMemoryStore(self.log).events("s")
        return [(event.type, len(event.usage), event.read_until) for event in events]


async def test_the_draft_begins_again_with_the_message_and_takes_it_in() -> None:
    held = WorkerInMemory(PLAN, PLAN)
    working = await held.begin(await held.does(c.Say(text="A calculator")))
    await held.says("with floats")
    await held.model.writing.arrived()
    held.model.writing.release()
    await working
    assert ["with floats" in prompt.data for prompt in held.model.prompts] == [False, True]
    assert (await held.accounts())[2:] == [("usage.recorded", 1, None), ("plan.drafted", 1, 2)]
    session = await held.session()
    assert (session.phase, session.words.unread, session.counts.plans) == ("awaiting_approval", (), 1)


async def test_ten_messages_begin_a_draft_again_three_times_and_the_next_draft_reads_the_rest() -> None:
    held = WorkerInMemory(*[PLAN] * (MAX_RESTARTS + 2))
    working = await held.begin(await held.does(c.Say(text="A calculator")))
    for number in range(10):
        await held.says(f"wish {number}!")
        if number < MAX_RESTARTS:
            await held.model.writing.arrived()
    held.model.writing.release()
    await working
    assert len(held.model.prompts) == MAX_RESTARTS + 1
    session = await held.session()
    assert [message.text for message in session.words.unread] == [f"wish {n}!" for n in range(MAX_RESTARTS, 10)]
    raw = held.log.messages[-1]
    await held.worker.on_delivery(Delivery(raw.subject, raw.data, raw.position, 1))
    assert all(f"wish {number}!" in held.model.prompts[-1].data for number in range(10))
    session = await held.session()
    assert (session.phase, session.words.unread) == ("awaiting_approval", ())
    assert session.spent.calls == len(held.model.prompts) == MAX_RESTARTS + 2


async def test_a_second_message_ends_the_reply_to_the_first_and_both_are_answered_at_once() -> None:
    held = WorkerInMemory(PLAN, WORDS, WORDS)
    await held.worker.on_delivery(await held.does(c.Say(text="A calculator")))
    first = await held.begin(await held.does(c.Say(text="Why three steps?")))
    again = asyncio.create_task(held.worker.on_delivery(await held.says("And why print?")))
    await held.model.writing.arrived()
    held.model.writing.release()
    await asyncio.gather(first, again)
    assert "Why three steps?" in held.model.prompts[-1].data
    assert [line for line in await held.accounts() if line[0] != "message.received"] == [
        ("plan.drafted", 1, None),
        ("usage.recorded", 1, None),
        ("remark.answered", 1, None),
    ]
    assert (await held.session()).words.unread == ()


class LaggingStore(InMemoryStore):
    """A store that has not read more of the log than it is asked for."""

    async def load(self, session_id: str, *, at_least: int = 0, version: int | None = None) -> SessionAtPosition:
        return await super().load(session_id, version=at_least or version)


# --- signals that come early, late, never or for nothing


async def test_a_message_that_comes_while_the_session_is_loaded_is_read_at_once() -> None:
    loading, go = asyncio.Event(), asyncio.Event()

    class SlowStore(LaggingStore):
        async def load(self, session_id: str, *, at_least: int = 0, version: int | None = None) -> SessionAtPosition:
            loaded = await super().load(session_id, at_least=at_least, version=version)
            loading.set()
            await go.wait()
            return loaded

    held = WorkerInMemory(PLAN, store=SlowStore)
    working = asyncio.create_task(held.worker.on_delivery(await held.does(c.Say(text="A calculator"))))
    await loading.wait()
    await held.says("with floats")
    go.set()
    await working
    assert "with floats" in held.model.prompts[0].data
    assert (await held.accounts())[-1] == ("plan.drafted", 1, 2)


async def test_a_forged_signal_delays_nothing() -> None:
    held = WorkerInMemory(PLAN)
    work = await held.does(c.Say(text="A calculator"))
    forged = b'{"session_id": "s", "version": 99, "type": "message.received"}'
    await held.worker.on_message("feed.s.x.message.received", forged)
    await asyncio.wait_for(held.worker.on_delivery(work), WAIT_TIMEOUT)
    assert (await held.session()).phase == "awaiting_approval"


async def test_without_a_signal_the_message_is_read_after_the_draft() -> None:
    held = WorkerInMemory(PLAN, PLAN)
    working = await held.begin(await held.does(c.Say(text="A calculator")))
    await held.does(c.Say(text="with floats"))
    held.model.writing.release()
    await working
    session = await held.session()
    assert (session.phase, [said.text for said in session.words.unread]) == ("planning", ["with floats"])
    assert len(held.model.prompts) == 1


async def test_a_signal_without_a_new_message_ends_nothing() -> None:
    """Anything may stand on the feed, and what the draft has read may be told again."""
    held = WorkerInMemory(PLAN, PLAN)
    working = await held.begin(await held.says("A calculator"))
    await held.signal()
    held.log.publish("session.s.planner.message.received", b"garbage")
    await held.signal()
    await held.signal(session_id="other")
    await held.does(c.Rename(title="Mine"))
    await held.signal()
    held.model.writing.release()
    await working
    assert len(held.model.prompts) == 1
    assert (await held.session()).phase == "awaiting_approval"


async def test_a_signal_while_the_log_is_away_leaves_the_message_to_the_next_draft() -> None:
    held = WorkerInMemory(PLAN, log=AwayLog())
    working = await held.begin(await held.does(c.Say(text="A calculator")))
    await held.does(c.Say(text="with floats"))
    held.log.away = True  # type: ignore[attr-defined]
    await held.signal()
    held.log.away = False  # type: ignore[attr-defined]
    held.model.writing.release()
    await working
    assert [said.text for said in (await held.session()).words.unread] == ["with floats"]


class AwayLog(InMemoryLog):
    away = False

    async def read(
        self, session_id: str, *, after: int = 0, limit: int = 1000, leader: bool = False
    ) -> list[StoredMessage]:
        if self.away:
            raise LogUnavailable("away")
        return await super().read(session_id, after=after, limit=limit, leader=leader)


async def test_the_answer_to_a_request_is_not_ended() -> None:
    """What an answer tells is done: the message is about what comes next."""
    answer = AnswerDraft(text="Done.", confidence=1)
    held = WorkerInMemory(answer, handler=write)
    await held.does(c.Say(text="Look", workflow="agentflow"))
    working = await held.begin(await held.does(NOTHING_LEFT))
    await held.says("and then?")
    held.model.writing.release()
    await working
    assert (await held.accounts())[-1] == ("answer.given", 1, None)


# --- together with a stop, a crash, another replica and the append itself


async def test_a_stop_ends_a_draft_that_has_begun_again() -> None:
    held = WorkerInMemory(PLAN, PLAN, PLAN)
    working = await held.begin(await held.does(c.Say(text="A calculator")))
    await held.says("with floats")
    await held.model.writing.arrived()
    stop = await held.does(c.Stop())
    await asyncio.gather(held.signal(), held.worker.on_stopped("feed.s.nobody.session.stopped", stop.data))
    await working
    session = await held.session()
    assert (session.phase, session.rest_reason, session.spent.calls) == ("resting", "stopped", 2)
    held.model.writing.release()
    await held.worker.on_delivery(await held.does(c.Retry()))
    assert "with floats" in held.model.prompts[-1].data
    assert (await held.session()).words.unread == ()


async def test_a_process_that_ends_begins_no_draft_again() -> None:
    held = WorkerInMemory(PLAN, PLAN)
    work = await held.does(c.Say(text="A calculator"))
    working = await held.begin(work)
    await held.says("with floats")
    working.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(working, WAIT_TIMEOUT)
    assert (len(held.model.prompts), (await held.session()).spent.calls) == (1, 1)
    held.model.writing.release()
    await held.replica().on_delivery(work._replace(deliveries=2))
    assert (await held.session()).phase == "awaiting_approval"


async def test_after_a_crash_another_replica_drafts_with_all_messages_and_the_late_draft_is_refused() -> None:
    held = WorkerInMemory(PLAN, PLAN, PLAN)
    work = await held.does(c.Say(text="A calculator"))
    hanging = await held.begin(work)
    await held.says("with floats")
    await held.model.writing.arrived()
    other = held.replica()
    again = asyncio.create_task(other.on_delivery(work._replace(deliveries=2)))
    await held.model.writing.arrived()
    held.model.writing.release()
    await asyncio.gather(again, hanging)
    assert "with floats" in held.model.prompts[-1].data
    kinds = [line for line in await held.accounts() if line[0] != "usage.recorded"]
    assert kinds == [("message.received", 0, None), ("message.received", 0, None), ("plan.drafted", 1, 2)]
    assert (await held.session()).spent.calls == 3


async def test_two_replicas_that_hear_of_the_message_record_one_draft_and_every_call() -> None:
    held = WorkerInMemory(*[PLAN] * 4)
    work = await held.does(c.Say(text="A calculator"))
    other = held.replica()
    both = [await held.begin(work), asyncio.create_task(other.on_delivery(work._replace(deliveries=2)))]
    await held.model.writing.arrived()
    await held.says("with floats")
    await held.signal(other)
    for _ in both:
        await held.model.writing.arrived()
    held.model.writing.release()
    await asyncio.gather(*both)
    session = await held.session()
    assert (session.phase, session.counts.plans, session.spent.calls) == ("awaiting_approval", 1, 4)


class OvertakenLog(InMemoryLog):
    """The person says something, which the worker hears of, right before the first draft is stored."""

    held: WorkerInMemory

    async def append(self, event: SessionEvent, *, after: int, due: Due) -> int:
        if event.type == "plan.drafted" and len(self.messages) == 1:
            await self.held.does(c.Say(text="with floats"))
            self.signal = asyncio.create_task(self.held.signal())
            await asyncio.sleep(0)
        return await super().append(event, after=after, due=due)


async def test_a_message_during_the_append_of_the_draft_is_read_by_the_next_one() -> None:
    log = OvertakenLog()
    log.held = held = WorkerInMemory(PLAN, PLAN, log=log)
    await held.worker.on_delivery(await held.does(c.Say(text="A calculator")))
    await log.signal
    session = await held.session()
    assert (session.phase, [said.text for said in session.words.unread]) == ("planning", ["with floats"])
    assert [line[0] for line in await held.accounts()] == ["message.received", "message.received", "plan.drafted"]


# --- on NATS, with the real client


async def test_services_begin_again_with_the_message_and_record_the_cancelled_calls(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    async with rehearsal_server(settings) as server, working(server.settings, server.model):
        ann = Watcher(bus, session_id)
        await ann.watch()
        await server.fault(task="text_plan", token_delay=2, times=1)
        await ann.does(c.Say(text=REQUEST))
        await ann.drafting("plan")
        await ann.does(c.Say(text="Add support for floating point numbers"))
        await ann.phase("awaiting_approval")
        await server.fault(task="code", token_delay=2, times=1)
        await ann.approves()
        await ann.drafting("code")
        await ann.does(c.Say(text="Without a loop"))
        session = await ann.phase("awaiting_approval")
        events = await ann.events()
        outcomes = [(call["task"], call["outcome"]) for call in await server.calls()]
    drafts = [event.type for event in events if event.type.endswith("drafted")]
    assert drafts == ["plan.drafted", "code.drafted"]
    assert outcomes[:4] == [("text_plan", "cancelled"), ("text_plan", "ok"), ("code", "cancelled"), ("code", "ok")]
    recorded = [call.outcome for event in events for call in event.usage]
    assert recorded.count("cancelled") == 2
    assert (session.words.unread, session.spent.calls) == ((), len(outcomes))


@pytest.mark.redelivers
async def test_a_planner_killed_in_a_draft_that_has_begun_again_loses_no_message(
    settings: Settings, bus: Bus, session_id: str
) -> None:
    plan_store = PlanStore(settings)
    await plan_store.start()
    async with rehearsal_server(settings) as server:
        await server.fault(task="text_plan", token_delay=2, times=2)
        ann = Watcher(bus, session_id)
        await ann.watch()
        killed = await process_of("planner", server.settings)
        try:
            await ann.does(c.Say(text=REQUEST))
            await ann.drafting("plan")
            await ann.does(c.Say(text="Add support for floating point numbers"))
            await server.wait_for_calls(lambda calls: len(calls) == 2)
        finally:
            killed.kill()
            await killed.wait()
        other = await process_of("planner", server.settings)
        try:
            session = await ann.phase("awaiting_approval")
        finally:
            other.kill()
            await other.wait()
            await plan_store.stop()
        events, calls = await ann.events(), await server.calls()
    assert [event.type for event in events if event.type != "usage.recorded"][-1] == "plan.drafted"
    assert (session.counts.plans, session.words.unread, events[-1].read_until) == (1, (), 2)
    assert [call.outcome for event in events for call in event.usage] == ["cancelled", "ok"]
    assert len(calls) == 3, "the one that was running when the planner was killed is not recorded"
