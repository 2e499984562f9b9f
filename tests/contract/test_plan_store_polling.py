"""The scheduler polls waiting steps, on SQLite and on PostgreSQL, with timers and an executor in memory."""

from datetime import UTC, datetime, timedelta

import pytest

from parley.events.values import SessionSettings, Step, Waiting
from parley.protocol.tools import PollNow, PollResult
from services.plan_store.projection.projector import Projector
from services.plan_store.scheduler.polling import read_timer
from services.plan_store.scheduler.scheduler import Scheduler
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.domain.steps.polling import polls_by_action
from shared.testing import InMemoryLog
from tests.support.broker import Broker, Clock
from tests.support.stories import Conversation, approve

pytest_plugins = ("tests.support.postgres", "tests.support.plan_store_fixtures")
NEW, SENT = PollResult(value={"status": "new"}), PollResult(value={"status": "sent"})
MET = PollResult(value={"status": "delivered"}, met=True)


class ManualClock(Clock):
    """A clock that only the test moves. It begins a minute ahead, after the times of stored events."""

    def __init__(self) -> None:
        super().__init__()
        self._began = datetime.now(UTC) + timedelta(seconds=60)

    def __call__(self) -> datetime:
        return self._began + self.ahead


@pytest.fixture
def clock() -> Clock:
    return ManualClock()


async def begin_polling(log: InMemoryLog, clock: Clock, *every: int, waits: int = 0, **settings: int) -> Conversation:
    """A session whose plan has a step for each of `every`, which polls at this interval for an hour.

    With `waits` the plan has another step that waits for this time. All times are in seconds.
    """
    story = Conversation(log)
    steps = [
        Step(text="Poll", tool="poll_until", id=f"s{number}", effect="read", waits_for="condition")
        for number, _ in enumerate(every, 1)
    ]
    steps += [Step(text="Wait", tool="wait_until", id="s9", effect="read", waits_for="time")] if waits else []
    await story.commit(c.Say(text="x", workflow="execution_plan", settings=SessionSettings(**settings)))
    await story.commit(c.DraftPlan(goal="Wait", steps=tuple(steps), kind="execution"), approve)
    now = clock()
    end = now + timedelta(hours=1)
    actions = [Waiting(action_id=f"t2.s{number}", until=end, every=item) for number, item in enumerate(every, 1)]
    actions += [Waiting(action_id="t2.s9", until=now + timedelta(seconds=waits))] if waits else []
    await story.commit(c.Wait(actions=tuple(actions)))
    return story


class Run:
    """One session with waiting steps, whose timers the test fires."""

    def __init__(
        self, story: Conversation, scheduler: Scheduler, projector: Projector, broker: Broker, clock: Clock
    ) -> None:
        self.id = story.id
        self._scheduler, self._projector, self._broker, self._clock = scheduler, projector, broker, clock

    async def fire(self, *answers: PollResult | None, after: float = 0) -> Session:
        """Fire the timer `after` seconds from now, while the executor gives these answers. Returns the session."""
        self._broker.answers = list(answers)
        self._clock.ahead += timedelta(seconds=after)
        await self._scheduler.timer_fired(self._broker.fire(self.id, "wake"))
        assert self._broker.answers == [], "the scheduler polled less often than expected"
        return await self.project()

    async def project(self) -> Session:
        return (await self._projector.load(self.id)).session

    @property
    def timer(self) -> dict[str, int]:
        """The number of polls of each action, as stored in the timer."""
        return {name: item.polls for name, item in read_timer(self._broker.armed[f"{self.id}.wake"][1]).polls.items()}

    def seconds(self) -> float:
        """Seconds until the timer fires."""
        return (self._broker.armed[f"{self.id}.wake"][0] - self._clock()).total_seconds()


@pytest.fixture
async def run(log: InMemoryLog, scheduler: Scheduler, projector: Projector, broker: Broker, clock: Clock) -> Run:
    run = Run(await begin_polling(log, clock, 60), scheduler, projector, broker, clock)
    await run.project()
    return run


async def test_each_poll_arms_the_next_and_only_changed_results_are_stored(run: Run, log: InMemoryLog) -> None:
    assert run.seconds() <= 0, "the first poll is due at once"
    first = await run.fire(NEW)
    assert (polls_by_action(first)["t2.s1"].polls, run.timer) == (1, {"t2.s1": 1})
    assert run.seconds() == 60
    unchanged = await run.fire(NEW, after=60)
    assert (unchanged.version, run.timer) == (first.version, {"t2.s1": 2}), "an unchanged result is not stored"
    changed = await run.fire(SENT, after=60)
    assert (polls_by_action(changed)["t2.s1"].polls, polls_by_action(changed)["t2.s1"].changes) == (3, 2)
    met = await run.fire(MET, after=60)
    assert met.turn
    assert (met.phase, met.turn.actions[0].result) == ("verifying", {"status": "delivered"})
    with pytest.raises(KeyError):
        run.seconds()


async def test_a_timer_that_fires_early_or_twice_does_not_poll(run: Run, broker: Broker) -> None:
    await run.fire(NEW)
    polls = len(broker.polled)
    await run.fire()
    await run.fire(after=30)
    assert (len(broker.polled), run.timer) == (polls, {"t2.s1": 1})


async def test_polling_goes_on_while_the_executor_is_unavailable(run: Run) -> None:
    first = await run.fire(None)
    assert (first.phase, run.timer) == ("waiting", {"t2.s1": 1})
    late = await run.fire(None, after=7_200)
    assert (late.phase, polls_by_action(late)["t2.s1"].polls) == ("waiting", 0)
    ended = await run.fire(PollResult(error="it is away"), after=60)
    assert ended.turn
    assert ended.turn.actions[0].error == "gave up after 3 checks: the last one failed: it is away"


async def test_a_pause_postpones_polling(
    log: InMemoryLog, scheduler: Scheduler, projector: Projector, broker: Broker, clock: Clock
) -> None:
    story = await begin_polling(log, clock, 60)
    run = Run(story, scheduler, projector, broker, clock)
    await run.project()
    await run.fire(NEW)
    await story.commit(c.Pause())
    await run.project()
    await run.fire(after=7_200)
    assert (run.timer, broker.polled) == ({"t2.s1": 1}, [PollNow(session_id=story.id, action_id="t2.s1")])
    await story.commit(c.Resume())
    assert (await run.fire(MET, after=60)).phase == "verifying"


async def test_all_waiting_steps_of_a_session_share_one_timer(
    log: InMemoryLog, scheduler: Scheduler, projector: Projector, broker: Broker, clock: Clock
) -> None:
    run = Run(await begin_polling(log, clock, 60, 100, waits=90), scheduler, projector, broker, clock)
    await run.project()
    await run.fire(NEW, NEW)
    assert run.seconds() == 60
    await run.fire(NEW, after=60)
    assert (run.timer, run.seconds() == 30) == ({"t2.s1": 2, "t2.s2": 1}, True)
    woken = await run.fire(after=30)
    assert woken.turn
    assert [action.status for action in woken.turn.actions] == ["waiting", "waiting", "finished"]
    assert (run.timer, run.seconds() == 10) == ({"t2.s1": 2, "t2.s2": 1}, True)
    met = await run.fire(MET, after=10)
    assert list(polls_by_action(met)) == ["t2.s1"]
    assert run.timer == {"t2.s1": 2}, "the timer still has the polls of the remaining step"


async def test_the_sweep_replaces_a_lost_timer_and_leaves_an_armed_one(
    log: InMemoryLog, scheduler: Scheduler, projector: Projector, broker: Broker, clock: Clock
) -> None:
    run = Run(await begin_polling(log, clock, 600), scheduler, projector, broker, clock)
    await run.project()
    await run.fire(NEW)
    await run.fire(NEW, after=600)
    clock.ahead += timedelta(seconds=300)
    await scheduler.sweep()
    assert run.timer == {"t2.s1": 2}, "the poll was made, though the log does not show it"
    broker.armed.clear()
    broker.answers = [SENT]
    await scheduler.sweep()
    assert (run.timer, polls_by_action(await run.project())["t2.s1"].value) == ({"t2.s1": 2}, {"status": "sent"})


async def test_a_late_poll_result_changes_nothing(
    log: InMemoryLog, scheduler: Scheduler, projector: Projector, broker: Broker, clock: Clock
) -> None:
    story = await begin_polling(log, clock, 60)
    run = Run(story, scheduler, projector, broker, clock)
    await run.project()
    late = broker.fire(story.id, "wake")
    await story.commit(c.Stop())
    stopped = await run.project()
    await scheduler.timer_fired(late)
    assert ((await run.project()).version, broker.polled, broker.armed) == (stopped.version, [], {})


async def test_a_step_fails_when_its_question_expires(
    log: InMemoryLog, scheduler: Scheduler, projector: Projector, broker: Broker, clock: Clock
) -> None:
    story = Conversation(log)
    asks = Step(text="Ask", tool="ask_person", id="s1", effect="read", waits_for="person")
    await story.commit(c.Say(text="x", workflow="execution_plan", settings=SessionSettings(approval_timeout=60)))
    await story.commit(c.DraftPlan(goal="Ask", steps=(asks,), kind="execution"), approve)
    await story.commit(c.Ask(text="Which?", about="action", action_id="t2.s1"))
    await projector.load(story.id)
    at, _ = broker.armed[f"{story.id}.approval"]
    assert at == log.messages[-1].at + timedelta(seconds=60)
    timer = broker.fire(story.id)
    await scheduler.timer_fired(timer)
    await scheduler.timer_fired(timer)
    session = await story.load()
    assert session.turn
    assert (session.phase, session.turn.actions[0].error) == ("verifying", "nobody answered in time")
    await projector.load(story.id)
    assert broker.armed == {}


async def test_an_answer_cancels_the_timer_of_the_question(
    log: InMemoryLog, scheduler: Scheduler, projector: Projector, broker: Broker
) -> None:
    story = Conversation(log)
    asks = Step(text="Ask", tool="ask_person", id="s1", effect="read", waits_for="person")
    await story.commit(c.Say(text="x", workflow="execution_plan", settings=SessionSettings(approval_timeout=60)))
    await story.commit(c.DraftPlan(goal="Ask", steps=(asks,), kind="execution"), approve)
    await story.commit(c.Ask(text="Which?", about="action", action_id="t2.s1"))
    await projector.load(story.id)
    late = broker.fire(story.id)
    await story.commit(c.Answer(text="Blue"))
    await projector.load(story.id)
    assert broker.armed == {}
    await scheduler.timer_fired(late)
    session = await story.load()
    assert session.turn
    assert (session.phase, session.turn.actions[0].result) == ("verifying", "Blue")
