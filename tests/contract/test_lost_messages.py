"""A log that has lost messages is noticed, and no rebuild makes the loss final. On SQLite and on PostgreSQL."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import update

from parley.events import envelope
from services.plan_store import tables as t
from services.plan_store.database import ProjectionDatabase
from services.plan_store.operations.health import StoreHealth
from services.plan_store.operations.purge import purge
from services.plan_store.operations.rebuild import RebuildRefused, rebuild_from
from services.plan_store.projection.projector import Projector
from services.plan_store.scheduler.clock import BrokerClock
from shared.domain.kernel import commands as c
from shared.store_api import Health, PurgeSession
from shared.testing import InMemoryLog
from tests.support.newer_release import newer_message
from tests.support.plan_store import rows
from tests.support.stories import Conversation

pytest_plugins = ("tests.support.postgres", "tests.support.plan_store_fixtures")

type Loses = Callable[[int, str], bool]


class Backlog:
    """How many messages plan_store has not projected yet."""

    def __init__(self) -> None:
        self.waiting = 0

    async def outstanding(self, durable: str) -> int:
        assert durable == "plan_store"
        return self.waiting


@pytest.fixture
def backlog() -> Backlog:
    return Backlog()


@pytest.fixture
def health(backlog: Backlog, log: InMemoryLog, database: ProjectionDatabase) -> StoreHealth:
    return StoreHealth(backlog, log, database, BrokerClock())


async def two_sessions(log: InMemoryLog, projector: Projector) -> None:
    """Sessions `a` and `b` with a plan in review each, and a parked message of `a`, projected."""
    for name in ("a", "b"):
        await Conversation(log, name).plan()
    log.publish("session.a.planner.x", b"garbage")
    for name in ("a", "b"):
        await projector.project_up_to(name, log.last(name))


def lose(log: InMemoryLog, loses: Loses) -> None:
    log.messages = [raw for raw in log.messages if not loses(raw.position, raw.subject.split(".")[1])]


LOSSES: dict[str, tuple[Loses, str]] = {
    "a session": (lambda _, name: name == "a", r"3 messages .*: a \(1, 2, 5\)\."),
    "the first message": (lambda position, _: position == 1, r"1 messages .*: a \(1\)\."),
    "one in the middle": (lambda position, _: position == 3, r"1 messages .*: b \(3\)\."),
    "a parked one at the end": (lambda position, _: position == 5, r"1 messages .*: a \(5\)\."),
    "of both sessions": (lambda position, _: position in (2, 4), r"2 messages .*: a \(2\), b \(4\)\."),
}


@pytest.mark.parametrize("case", LOSSES)
async def test_a_loss_is_reported_and_refuses_a_rebuild(
    case: str, log: InMemoryLog, database: ProjectionDatabase, projector: Projector, health: StoreHealth
) -> None:
    loses, named = LOSSES[case]
    await two_sessions(log, projector)
    assert await health.check()
    assert (await health.report(Health())).problems == {}
    lose(log, loses)
    await Conversation(log, "new").plan()  # the log goes on, so its last position shows nothing
    await projector.project_up_to("new", log.last("new"))
    await health.check()
    assert (await health.report(Health())).problems["log"].startswith("the log has lost")
    before = await rows(database)
    with pytest.raises(RebuildRefused, match=f"The log has lost {named} Restore NATS from a backup"):
        await rebuild_from(log, database, lambda *_: None)
    assert await rows(database) == before
    report = await rebuild_from(log, database, lambda *_: None, force=True)
    assert report.events + report.parked <= len(log.messages)
    await health.check()
    assert (await health.report(Health())).problems == {}


async def test_a_refusal_names_ten_sessions_with_ten_positions_each(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    for number in range(12):
        story = Conversation(log, f"s{number:02}")
        await (story.whole() if number == 0 else story.plan())
        await projector.project_up_to(story.id, log.last(story.id))
    lose(log, lambda position, _: position < log.messages[-1].position)
    with pytest.raises(RebuildRefused) as caught:
        await rebuild_from(log, database, lambda *_: None)
    text = str(caught.value)
    assert "s00 (1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and " in text
    assert "s09 (" in text
    assert "s10 (" not in text
    assert " and 2 more." in text


async def test_a_purged_session_is_not_lost(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector, health: StoreHealth
) -> None:
    await two_sessions(log, projector)
    await Conversation(log, "c").commit(c.Say(text="Write a calculator"), c.Stop())
    ask = PurgeSession(session_id="c", user="ann")
    await purge(log, database, projector, ask)
    log.publish("session.c.planner.x", b"too late")
    await projector.project_up_to("c", log.last("c"))  # parked under the purged id
    await health.check()
    assert (await health.report(Health())).problems == {}
    async with database.begin() as tx:
        await tx.execute(update(t.tombstones).values(log_purged=False))
    await log.purge("c")  # and the process ends here, before it deletes the parked message
    await health.check()
    assert (await health.report(Health())).problems == {}
    await rebuild_from(log, database, lambda *_: None)


async def test_what_waits_for_a_newer_release_is_not_lost(
    log: InMemoryLog,
    database: ProjectionDatabase,
    projector: Projector,
    health: StoreHealth,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    await two_sessions(log, projector)
    log.publish(*newer_message(await Conversation(log, "b").load_at_position()))
    with monkeypatch.context() as newer:
        newer.setattr(envelope, "FORMAT", envelope.FORMAT + 1)
        await projector.project_up_to("b", log.last("b"))
    projector.forget("b")
    for _ in range(2):
        await health.check()
    assert (await health.report(Health())).problems == {}
    report = await rebuild_from(log, database, lambda *_: None)
    assert (report.waiting_for_upgrade, report.events) == (1, 4)


async def test_messages_that_are_not_projected_yet_are_no_problem(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector, health: StoreHealth, backlog: Backlog
) -> None:
    await two_sessions(log, projector)
    await Conversation(log, "c").plan()
    backlog.waiting = 2
    for _ in range(2):
        await health.check()
    assert (await health.report(Health())).problems == {}


async def test_a_database_that_lacks_messages_is_reported_at_the_second_look(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector, health: StoreHealth
) -> None:
    """An older copy of the database; at the first look its messages may just be on their way."""
    await two_sessions(log, projector)
    await Conversation(log, "c").plan()
    await health.check()
    assert (await health.report(Health())).problems == {}
    await health.check()
    assert "run `parley rebuild`" in (await health.report(Health())).problems["rows"]
    await rebuild_from(log, database, lambda *_: None)
    await health.check()
    assert (await health.report(Health())).problems == {}


@pytest.mark.parametrize(("hours", "words"), [(1, "3600 s ahead of that of NATS"), (-1, "3600 s behind that of NATS")])
async def test_a_clock_that_differs_from_the_brokers_is_reported_and_stops_the_sweeps(
    hours: int, words: str, log: InMemoryLog, database: ProjectionDatabase, backlog: Backlog
) -> None:
    ahead = timedelta(hours=hours)
    health = StoreHealth(backlog, log, database, BrokerClock(lambda: datetime.now(UTC) + ahead))
    assert not await health.check()
    assert words in (await health.report(Health())).problems["clock"]
    ahead = timedelta(seconds=50)
    assert await health.check()
    assert (await health.report(Health())).problems == {}
