"""The scheduler ends expired approvals, waiting steps, dead letters and lost work, on SQLite and on PostgreSQL."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from parley.events.values import ActionSpec, SessionSettings, Step, Waiting
from services.plan_store.database import ProjectionDatabase
from services.plan_store.operations.dead_letters import dismiss, list_dead
from services.plan_store.operations.rebuild import rebuild_from
from services.plan_store.projection.projector import Projector
from services.plan_store.scheduler.scheduler import Scheduler
from shared import store_api as api
from shared.bus import Delivery, Unprocessable
from shared.domain.kernel import commands as c
from shared.domain.steps.waiting_steps import next_wake
from shared.story import finish_action
from shared.testing import InMemoryLog
from tests.support.broker import Broker, Clock
from tests.support.stories import STEPS, Conversation, approve, spent

pytest_plugins = ("tests.support.postgres", "tests.support.plan_store_fixtures")
ADVISORY = "$JS.EVENT.ADVISORY.CONSUMER"


def advisory(position: int, consumer: str = "planner") -> Delivery:
    body = {
        "type": "io.nats.jetstream.advisory.v1.terminated",
        "id": "x",
        "timestamp": "2026-11-21T12:00:00.123456789Z",
        "stream": "SESSIONS",
        "consumer": consumer,
        "stream_seq": position,
        "deliveries": 7,
        "reason": "given up after 6 deliveries",
    }
    return Delivery(f"{ADVISORY}.MSG_TERMINATED.SESSIONS.{consumer}", json.dumps(body).encode(), 1, 1)


# --- dead letters


async def test_a_dead_letter_fails_the_work_in_progress(
    log: InMemoryLog, database: ProjectionDatabase, scheduler: Scheduler
) -> None:
    story = Conversation(log)
    await story.commit(c.Say(text="Write a calculator"))
    for position in (log.last(story.id), 1):  # a repeated advisory has no effect
        await scheduler.dead_letter(advisory(position))
    session = await story.load()
    assert (session.version, session.phase) == (2, "failed")
    assert session.failure is not None
    assert session.failure.retryable
    assert "6 deliveries" in session.failure.reason
    assert (await story.commit(c.Retry())).work == c.Work(service="planner", version=3)

    page = await list_dead(database, api.ListDead())
    assert [(dead.stream_seq, dead.consumer, dead.reason, dead.session_id) for dead in page.dead] == [
        (1, "planner", "given up after 6 deliveries", story.id)
    ]


async def test_a_dead_letter_of_finished_work_is_only_recorded(
    log: InMemoryLog, database: ProjectionDatabase, scheduler: Scheduler
) -> None:
    story = Conversation(log)
    await story.plan()
    version = (await story.load()).version
    await scheduler.dead_letter(advisory(1))
    await scheduler.dead_letter(advisory(1, consumer="plan_store"))
    await scheduler.dead_letter(advisory(99))
    assert (await story.load()).version == version
    page = await list_dead(database, api.ListDead())
    assert {(dead.stream_seq, dead.consumer) for dead in page.dead} == {
        (1, "planner"),
        (1, "plan_store"),
        (99, "planner"),
    }
    await rebuild_from(log, database, lambda *_: None)
    assert (await list_dead(database, api.ListDead())).dead_total == 3


async def test_a_dismissed_dead_letter_stays_dismissed_with_its_user(
    log: InMemoryLog, database: ProjectionDatabase, scheduler: Scheduler
) -> None:
    story = Conversation(log)
    await story.plan()
    position = log.publish(f"session.{story.id}.planner.x", b"what?")
    await scheduler.dead_letter(advisory(position))
    await scheduler.dead_letter(advisory(position, consumer="verifier"))
    await scheduler.dead_letter(advisory(99))
    await rebuild_from(log, database, lambda *_: None)
    page = await list_dead(database, api.ListDead())
    assert {dead.stream_seq: dead.phase for dead in page.dead} == {position: "awaiting_approval", 99: ""}
    assert (page.parked_total, page.dead_total) == (1, 3)

    dismissed = await dismiss(database, api.DismissDead(stream="SESSIONS", stream_seq=position, user="ann"))
    assert dismissed.entries == 3
    for repeated in (99, position):
        await scheduler.dead_letter(advisory(repeated))
        await rebuild_from(log, database, lambda *_: None)
    page = await list_dead(database, api.ListDead())
    assert [(dead.stream_seq, dead.dismissed_by) for dead in page.dead] == [(99, None)]
    assert (page.parked, page.parked_total, page.dead_total) == ((), 0, 1)
    dismissed_page = await list_dead(database, api.ListDead(dismissed=True))
    dismissed_by = {(dead.consumer, dead.dismissed_by) for dead in dismissed_page.dead}
    assert dismissed_by == {("planner", "ann"), ("verifier", "ann")}
    assert [(record.position, record.dismissed_by) for record in dismissed_page.parked] == [(position, "ann")]
    assert all(record.dismissed_at for record in dismissed_page.dead)
    await scheduler.dead_letter(advisory(position, consumer="generator"))  # another consumer: a new dead letter
    assert (await list_dead(database, api.ListDead())).dead_total == 2
    for request in (
        api.DismissDead(stream="SESSIONS", stream_seq=77, user="ann"),
        api.DismissDead(stream="TIMERS", stream_seq=position, user="ann"),
    ):
        with pytest.raises(api.StoreError, match=r"Nothing is listed of \w+#\d+"):
            await dismiss(database, request)


@pytest.mark.parametrize(("stopped", "phase"), [(False, "failed"), (True, "resting")])
async def test_a_dead_letter_ends_the_actions_of_its_work(
    log: InMemoryLog, scheduler: Scheduler, stopped: bool, phase: str
) -> None:
    """No other service ends them: the executor has given up."""
    story = Conversation(log)
    await story.commit(c.Say(text="Pay", workflow="agentflow", settings=SessionSettings(approval="never")))
    pay = ActionSpec(id="1.1", tool="pay", effect="write")
    look, large = ActionSpec(id="1.2", tool="look"), ActionSpec(id="1.3", tool="read")
    await story.commit(c.PlanTurn(sub_goal="pay", actions=(pay, look, large)))
    work = log.last(story.id)
    await story.commit(
        c.Start(), finish_action("1.3", result="the beg…", size=60_000), *([c.Stop()] if stopped else [])
    )
    for _ in range(2):  # a repeated advisory has no effect
        await scheduler.dead_letter(advisory(work, consumer="executor"))
    session = await story.load()
    assert session.turn is not None
    assert (session.phase, session.version) == (phase, 8)
    assert [(a.status, a.is_under_way) for a in session.turn.actions] == [
        *(("uncertain", False), ("failed", False), ("finished", False))
    ]
    assert (await story.commit(c.Retry())).phase == "awaiting_input"


async def test_an_invalid_advisory_is_quarantined(scheduler: Scheduler) -> None:
    with pytest.raises(Unprocessable):
        await scheduler.dead_letter(Delivery(f"{ADVISORY}.MSG_TERMINATED.x", b"{}", 1, 1))
    for subject, data in (
        ("timerfired.a.approval", b"?"),
        ("timerfired.a.other", b'{"requested_version": 1}'),
        ("timerfired", b""),
    ):
        with pytest.raises(Unprocessable):
            await scheduler.timer_fired(Delivery(subject, data, 1, 1))


# --- lost work


async def test_old_work_that_no_consumer_holds_is_recorded_as_failed(
    log: InMemoryLog, projector: Projector, scheduler: Scheduler, broker: Broker, clock: Clock
) -> None:
    story, recent = Conversation(log), Conversation(log)
    await story.commit(c.Say(text="Write a calculator"))
    await projector.load(story.id)
    await scheduler.sweep()
    assert (await story.load()).phase == "planning", "the work is recent"
    clock.ahead = timedelta(seconds=121)
    broker.done["planner"] = 0
    await scheduler.sweep()
    assert (await story.load()).phase == "planning", "the planner may hold it: its position is not past the event"
    await story.commit(c.Rename(title="Calculator"))
    await projector.load(story.id)
    broker.done["planner"] = 1
    await scheduler.sweep()
    await scheduler.sweep()
    session = await story.load()
    assert (session.phase, session.version) == ("failed", 3)
    clock.ahead = timedelta()
    await recent.commit(c.Say(text="Write another"))
    await projector.load(recent.id)
    await scheduler.sweep()
    assert (await recent.load()).phase == "planning"


# --- replies: messages that are answered beside the work


async def with_running_action(log: InMemoryLog) -> Conversation:
    """A session whose executor runs an action of its plan."""
    story = Conversation(log)
    step = Step(text="Pay", tool="pay", id="s1", effect="write", arguments={})
    await story.commit(c.Say(text="Pay", workflow="execution_plan"))
    await story.commit(c.DraftPlan(goal="Pay", steps=(step,), kind="execution"), approve, c.Start())
    return story


async def test_a_reply_that_nobody_makes_is_told_beside_the_work_that_goes_on(
    log: InMemoryLog, projector: Projector, scheduler: Scheduler, broker: Broker, clock: Clock
) -> None:
    story = await with_running_action(log)
    asked = await story.commit(c.Say(text="How long will it take?"))
    await projector.load(story.id)
    broker.done["executor"], broker.done["planner"] = 0, log.last(story.id) - 1
    clock.ahead = timedelta(seconds=121)
    await scheduler.sweep()
    assert (await story.load()).reply == asked.reply, "the planner may hold the message"
    broker.done["planner"] = log.last(story.id)
    await scheduler.sweep()
    await projector.load(story.id)
    await scheduler.sweep()
    session = await story.load()
    assert (session.phase, session.work, session.reply) == ("executing", asked.work, None)
    assert session.version == asked.version + 1
    assert "could not be answered: The planner lost the work" in session.words.reply
    assert [(entry.by, entry.kind) for entry in session.transcript[-2:]] == [
        ("person", "message"),
        ("planner", "answer"),
    ]


async def test_a_dead_letter_of_a_reply_is_told(log: InMemoryLog, scheduler: Scheduler) -> None:
    story = Conversation(log)
    await story.plan()
    await story.commit(approve)
    await story.codes()
    asked = await story.commit(c.Say(text="Why does it divide?"))
    assert asked.reply == c.Work(service="generator", version=asked.version)
    for _ in range(2):  # a repeated advisory has no effect
        await scheduler.dead_letter(advisory(log.last(story.id), consumer="generator"))
    session = await story.load()
    assert (session.phase, session.reply, session.version) == ("awaiting_approval", None, asked.version + 1)
    assert "The generator gave the work up: given up after 6 deliveries" in session.words.reply
    assert (await story.commit(c.Say(text="And now?"))).reply is not None


# --- deadlines


async def in_review(log: InMemoryLog, seconds: int = 60) -> Conversation:
    story = Conversation(log)
    await story.plan(settings=SessionSettings(approval_timeout=seconds))
    return story


async def test_an_approval_without_a_decision_expires(
    log: InMemoryLog, projector: Projector, scheduler: Scheduler, broker: Broker
) -> None:
    story = await in_review(log)
    await projector.load(story.id)
    at, payload = broker.armed[f"{story.id}.approval"]
    assert at == log.messages[-1].at + timedelta(seconds=60)
    assert json.loads(payload) == {"requested_version": 2}
    await scheduler.timer_fired(broker.fire(story.id))
    await scheduler.timer_fired(broker.fire(story.id))
    session = await story.load()
    assert (session.version, session.phase, session.rest_reason) == (3, "resting", "stopped")
    await projector.load(story.id)
    assert broker.armed == {}


async def test_a_decision_in_time_cancels_the_timer_and_a_late_one_does_nothing(
    log: InMemoryLog, projector: Projector, scheduler: Scheduler, broker: Broker
) -> None:
    story = await in_review(log)
    await projector.load(story.id)
    late = broker.fire(story.id)
    await story.commit(approve)
    await projector.load(story.id)
    assert broker.armed == {}
    await scheduler.timer_fired(late)
    assert (await story.load()).phase == "coding"


async def test_a_new_plan_restarts_the_deadline(
    log: InMemoryLog, projector: Projector, scheduler: Scheduler, broker: Broker
) -> None:
    story = await in_review(log)
    await projector.load(story.id)
    first = broker.fire(story.id)
    await story.commit(c.EditPlan(base=2, steps=STEPS[:1]))
    await projector.load(story.id)
    await scheduler.timer_fired(first)
    assert (await story.load()).phase == "awaiting_approval"
    await story.commit(spent())
    await projector.load(story.id)
    assert json.loads(broker.fire(story.id).data) == {"requested_version": 3}, "spending is not a decision"


async def test_the_sweep_expires_an_approval_whose_timer_could_not_be_set(
    log: InMemoryLog, projector: Projector, scheduler: Scheduler, broker: Broker, clock: Clock
) -> None:
    broker.down = True
    story = await in_review(log)
    await projector.load(story.id)
    assert broker.armed == {}
    clock.ahead = timedelta(seconds=60 + 31)
    await scheduler.sweep()
    assert (await story.load()).phase == "resting"


async def waiting(log: InMemoryLog) -> Conversation:
    """A session with a plan whose only step waits for a minute."""
    story = Conversation(log)
    step = Step(text="Wait", tool="wait_until", id="s1", effect="read", waits_for="time")
    await story.commit(c.Say(text="Wait", workflow="execution_plan"))
    await story.commit(c.DraftPlan(goal="Wait", steps=(step,), kind="execution"), approve)
    until = datetime.now(UTC) + timedelta(seconds=60)
    await story.commit(c.Wait(actions=(Waiting(action_id="t2.s1", until=until),)))
    return story


async def test_a_waiting_step_is_woken_by_its_timer(
    log: InMemoryLog, projector: Projector, scheduler: Scheduler, broker: Broker, clock: Clock
) -> None:
    story = await waiting(log)
    before = await story.load()
    await projector.load(story.id)
    at, _ = broker.armed[f"{story.id}.wake"]
    assert at == next_wake(before)
    early = broker.fire(story.id, "wake")
    await scheduler.timer_fired(early)
    assert (await story.load()).phase == "waiting", "the step waits until its time"
    clock.ahead = timedelta(seconds=61)
    await scheduler.timer_fired(early)
    await scheduler.timer_fired(early)
    assert ((await story.load()).phase, (await story.load()).version) == ("verifying", before.version + 1)
    await projector.load(story.id)
    assert broker.armed == {}


async def test_a_step_whose_timer_was_lost_is_woken_by_the_sweep(
    log: InMemoryLog, projector: Projector, scheduler: Scheduler, broker: Broker, clock: Clock
) -> None:
    broker.down = True
    story = await waiting(log)
    await projector.load(story.id)
    assert broker.armed == {}
    await scheduler.sweep()
    assert (await story.load()).phase == "waiting"
    clock.ahead = timedelta(seconds=60 + 31)
    await scheduler.sweep()
    assert (await story.load()).phase == "verifying"


async def test_a_rebuild_sets_no_timers(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector, scheduler: Scheduler, broker: Broker
) -> None:
    story = await in_review(log)
    await projector.load(story.id)
    broker.armed.clear()
    await rebuild_from(log, database, lambda *_: None)
    await projector.load(story.id)
    assert broker.armed == {}


@pytest.mark.parametrize("seconds", [10**9, 10**30])
async def test_an_excessive_approval_timeout_sets_no_timer(
    seconds: int, log: InMemoryLog, projector: Projector, scheduler: Scheduler, broker: Broker
) -> None:
    story = await in_review(log, seconds)
    assert (await projector.load(story.id)).session.version == 2
    assert broker.armed == {}
