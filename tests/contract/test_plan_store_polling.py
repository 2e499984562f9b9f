"""The keeper's looks for steps that poll, on SQLite and on PostgreSQL, with a timer and an executor of the test."""

from datetime import UTC, datetime, timedelta

import pytest

from parley.events.values import SessionSettings, Step, Waiting
from parley.protocol.tools import Looked, LookNow
from services.plan_store.database import Database
from services.plan_store.keeper import Keeper
from services.plan_store.polling import read_timer
from services.plan_store.projection import Projector
from shared.domain import commands as c
from shared.domain.polling import polling
from shared.domain.session import Session
from shared.testing import InMemoryLog
from tests.contract.test_plan_store_keeper import Broker, Clock
from tests.support.stories import Conversation, approve

pytest_plugins = ("tests.support.postgres", "tests.support.plan_store_fixtures")
NEW, SENT = Looked(value={"status": "new"}), Looked(value={"status": "sent"})
MET = Looked(value={"status": "delivered"}, met=True)


@pytest.fixture
def broker() -> Broker:
    return Broker()


class Frozen(Clock):
    """It stands still unless a test moves it, a little ahead of the times at which events are stored."""

    def __init__(self) -> None:
        super().__init__()
        self._began = datetime.now(UTC) + timedelta(seconds=60)

    def __call__(self) -> datetime:
        return self._began + self.ahead


@pytest.fixture
def clock() -> Clock:
    return Frozen()


@pytest.fixture
def keeper(log: InMemoryLog, database: Database, projector: Projector, broker: Broker, clock: Clock) -> Keeper:
    keeper = Keeper(broker, log, database, projector, stuck_work_timeout=120, now=clock)
    projector.on_moved = keeper.moved
    return keeper


async def polls(log: InMemoryLog, clock: Clock, *every: int, waits: int = 0, **settings: int) -> Conversation:
    """A plan of steps that poll for an hour, and one that waits so many seconds."""
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
    begins = [Waiting(action_id=f"t2.s{number}", until=end, every=one) for number, one in enumerate(every, 1)]
    begins += [Waiting(action_id="t2.s9", until=now + timedelta(seconds=waits))] if waits else []
    await story.commit(c.Wait(actions=tuple(begins)))
    return story


class Run:
    """The timers of one session, fired by the test."""

    def __init__(self, story: Conversation, keeper: Keeper, projector: Projector, broker: Broker, clock: Clock) -> None:
        self.id = story.id
        self._story, self._keeper, self._projector, self._broker, self._clock = story, keeper, projector, broker, clock

    async def fires(self, *seen: Looked | None, after: float = 0) -> Session:
        """The session once the timer has fired, so many seconds later, and the executor has given these answers."""
        self._broker.seen = list(seen)
        self._clock.ahead += timedelta(seconds=after)
        await self._keeper.expired(self._broker.fire(self.id, "wake"))
        assert self._broker.seen == [], "the executor was not asked"
        return await self.projected()

    async def projected(self) -> Session:
        return (await self._projector.load(self.id)).session

    @property
    def timer(self) -> dict[str, int]:
        """By action, how often the timer says that it has looked."""
        return {name: one.looks for name, one in read_timer(self._broker.armed[f"{self.id}.wake"][1]).polls.items()}

    def seconds(self) -> float:
        """Until the timer fires."""
        return (self._broker.armed[f"{self.id}.wake"][0] - self._clock()).total_seconds()


@pytest.fixture
async def run(log: InMemoryLog, keeper: Keeper, projector: Projector, broker: Broker, clock: Clock) -> Run:
    run = Run(await polls(log, clock, 60), keeper, projector, broker, clock)
    await run.projected()
    return run


async def test_each_look_arms_the_next_and_only_news_is_stored(run: Run, log: InMemoryLog) -> None:
    assert run.seconds() <= 0, "the first look is made at once"
    first = await run.fires(NEW)
    assert (polling(first)["t2.s1"].looks, run.timer) == (1, {"t2.s1": 1})
    assert run.seconds() == 60
    same = await run.fires(NEW, after=60)
    assert (same.version, run.timer) == (first.version, {"t2.s1": 2}), "a look is no event"
    changed = await run.fires(SENT, after=60)
    assert (polling(changed)["t2.s1"].looks, polling(changed)["t2.s1"].changes) == (3, 2)
    met = await run.fires(MET, after=60)
    assert met.turn
    assert (met.phase, met.turn.actions[0].result) == ("verifying", {"status": "delivered"})
    with pytest.raises(KeyError):
        run.seconds()


async def test_a_timer_that_fires_early_or_twice_asks_nobody(run: Run, broker: Broker) -> None:
    await run.fires(NEW)
    looked = len(broker.looked)
    await run.fires()
    await run.fires(after=30)
    assert (len(broker.looked), run.timer) == (looked, {"t2.s1": 1})


async def test_while_no_executor_answers_it_looks_on_and_gives_up_only_on_an_answer(run: Run) -> None:
    first = await run.fires(None)
    assert (first.phase, run.timer) == ("waiting", {"t2.s1": 1})
    late = await run.fires(None, after=7_200)
    assert (late.phase, polling(late)["t2.s1"].looks) == ("waiting", 0)
    over = await run.fires(Looked(error="it is away"), after=60)
    assert over.turn
    assert over.turn.actions[0].error == "gave up after 3 checks: the last one failed: it is away"


async def test_a_pause_holds_the_looks(
    log: InMemoryLog, keeper: Keeper, projector: Projector, broker: Broker, clock: Clock
) -> None:
    story = await polls(log, clock, 60)
    run = Run(story, keeper, projector, broker, clock)
    await run.projected()
    await run.fires(NEW)
    await story.commit(c.Pause())
    await run.projected()
    await run.fires(after=7_200)
    assert (run.timer, broker.looked) == ({"t2.s1": 1}, [LookNow(session_id=story.id, action_id="t2.s1")])
    await story.commit(c.Resume())
    assert (await run.fires(MET, after=60)).phase == "verifying"


async def test_one_timer_serves_all_that_waits_of_a_session(
    log: InMemoryLog, keeper: Keeper, projector: Projector, broker: Broker, clock: Clock
) -> None:
    run = Run(await polls(log, clock, 60, 100, waits=90), keeper, projector, broker, clock)
    await run.projected()
    await run.fires(NEW, NEW)
    assert run.seconds() == 60
    await run.fires(NEW, after=60)
    assert (run.timer, run.seconds() == 30) == ({"t2.s1": 2, "t2.s2": 1}, True)
    woken = await run.fires(after=30)
    assert woken.turn
    assert [action.status for action in woken.turn.actions] == ["waiting", "waiting", "finished"]
    assert (run.timer, run.seconds() == 10) == ({"t2.s1": 2, "t2.s2": 1}, True)
    met = await run.fires(MET, after=10)
    assert list(polling(met)) == ["t2.s1"]
    assert run.timer == {"t2.s1": 2}, "what the other one has looked is not lost"


async def test_a_lost_timer_is_made_up_for_by_the_sweep_and_one_that_is_armed_is_left_alone(
    log: InMemoryLog, keeper: Keeper, projector: Projector, broker: Broker, clock: Clock
) -> None:
    run = Run(await polls(log, clock, 600), keeper, projector, broker, clock)
    await run.projected()
    await run.fires(NEW)
    await run.fires(NEW, after=600)
    clock.ahead += timedelta(seconds=300)
    await keeper.sweep()
    assert run.timer == {"t2.s1": 2}, "by the log a look is overdue, but it was made and showed nothing new"
    broker.armed.clear()
    broker.seen = [SENT]
    await keeper.sweep()
    assert (run.timer, polling(await run.projected())["t2.s1"].value) == ({"t2.s1": 2}, {"status": "sent"})


async def test_a_look_that_comes_too_late_changes_nothing(
    log: InMemoryLog, keeper: Keeper, projector: Projector, broker: Broker, clock: Clock
) -> None:
    story = await polls(log, clock, 60)
    run = Run(story, keeper, projector, broker, clock)
    await run.projected()
    late = broker.fire(story.id, "wake")
    await story.commit(c.Stop())
    stopped = await run.projected()
    await keeper.expired(late)
    assert ((await run.projected()).version, broker.looked, broker.armed) == (stopped.version, [], {})


async def test_a_question_of_a_step_that_nobody_answers_fails_the_step(
    log: InMemoryLog, keeper: Keeper, projector: Projector, broker: Broker, clock: Clock
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
    await keeper.expired(timer)
    await keeper.expired(timer)
    session = await story.load()
    assert session.turn
    assert (session.phase, session.turn.actions[0].error) == ("verifying", "nobody answered in time")
    await projector.load(story.id)
    assert broker.armed == {}


async def test_an_answer_in_time_cancels_the_timer(
    log: InMemoryLog, keeper: Keeper, projector: Projector, broker: Broker
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
    await keeper.expired(late)
    session = await story.load()
    assert session.turn
    assert (session.phase, session.turn.actions[0].result) == ("verifying", "Blue")
