"""A rebuild writes the same rows again from the log, in shadow tables. On SQLite and on PostgreSQL."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime

import pytest
from sqlalchemy import func, select

from services.plan_store import tables as t
from services.plan_store.database import ProjectionDatabase, RowChange, Upsert
from services.plan_store.operations import health, log_replay, shadow_tables
from services.plan_store.operations.health import DatabaseAheadOfLog, check_database_not_ahead
from services.plan_store.operations.rebuild import RebuildRefused, rebuild_from
from services.plan_store.projection.history import FoldedMessage
from services.plan_store.projection.projector import Projector
from services.plan_store.projection.rows import changes_for
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.log import LogExtent, StoredMessage, fork
from shared.testing import InMemoryLog, session_ids
from tests.support.plan_store import rows
from tests.support.stories import Conversation

pytest_plugins = ("tests.support.postgres", "tests.support.plan_store_fixtures")


class KilledError(Exception):
    """Ends a rebuild at once, as a killed process would."""


class RecordingLog(InMemoryLog):
    """Records the positions that messages are read from, and calls a hook before each read."""

    def __init__(self) -> None:
        super().__init__()
        self.pages: list[int] = []
        self.before: Callable[[int], Awaitable[None]] | None = None

    async def read_all(self, *, after: int, limit: int, leader: bool = False) -> list[StoredMessage]:
        if self.before:
            await self.before(after)
        self.pages.append(after)
        return await super().read_all(after=after, limit=limit, leader=leader)


@pytest.fixture
def log() -> RecordingLog:
    return RecordingLog()


@pytest.fixture
def small_pages(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make pages, transactions and the cache small."""
    monkeypatch.setattr(log_replay, "PAGE", 7)
    monkeypatch.setattr(log_replay, "BATCH_MESSAGES", 14)
    monkeypatch.setattr(log_replay, "CACHE_BYTES", 1)


async def three_sessions(log: InMemoryLog, projector: Projector) -> list[Conversation]:
    """Three sessions whose events are interleaved in the log, projected."""
    stories = [Conversation(log) for _ in range(3)]
    await asyncio.gather(*(story.whole() for story in stories))
    for story in stories:
        await projector.load(story.id)
    return stories


async def test_a_rebuild_produces_the_same_rows(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    stories = [Conversation(log) for _ in range(3)]
    for story in stories:
        await story.whole()
    await fork(log, await stories[0].load(), "forked", CommandMeta("user:bob", datetime.now(UTC), "f"))
    log.publish("session.odd id.planner.x", b"garbage")
    log.publish(f"session.{stories[1].id}.planner.x", b"garbage")
    for session_id in await session_ids(log):
        await projector.project_up_to(session_id, 2**62)
    before = await rows(database)
    assert all(before[name] for name in ("sessions", "journal", "plans", "code_versions", "parked_messages"))

    async with database.begin() as tx:
        await tx.execute(t.plans.update().values(goal="tampered"))
        await tx.execute(t.sessions.delete().where(t.sessions.c.id == stories[2].id))
    progress: list[tuple[int, int]] = []
    report = await rebuild_from(log, database, lambda done, total: progress.append((done, total)))
    assert await rows(database) == before
    assert (report.sessions, report.events, report.parked) == (4, len(before["journal"]), 2)
    assert progress[-1] == (len(log.messages), len(log.messages))


async def test_plan_store_projects_events_during_a_rebuild(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    stories = [Conversation(log) for _ in range(5)]
    for story in stories:
        await story.whole()
        await projector.load(story.id)

    async def project() -> None:
        for story in stories:
            await story.commit(c.Say(text="And now in colour"))
            assert await projector.load(story.id) == await story.load_at_position()

    await asyncio.gather(rebuild_from(log, database, lambda *_: None), project())
    for story in stories:
        assert await projector.load(story.id) == await story.load_at_position()
    before = await rows(database)
    await rebuild_from(log, database, lambda *_: None)
    assert await rows(database) == before


async def test_a_rebuild_from_an_empty_log_is_refused(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    story = Conversation(log)
    await story.plan()
    await projector.load(story.id)
    before = await rows(database)
    with pytest.raises(RebuildRefused):
        await rebuild_from(InMemoryLog(), database, lambda *_: None)
    assert await rows(database) == before


@pytest.mark.usefixtures("small_pages")
async def test_sessions_that_left_the_cache_are_read_back_from_their_rows(
    log: RecordingLog, database: ProjectionDatabase, projector: Projector
) -> None:
    await three_sessions(log, projector)
    before = await rows(database)
    await rebuild_from(log, database, lambda *_: None)
    assert await rows(database) == before
    assert len(log.pages) > 8


@pytest.mark.usefixtures("small_pages")
async def test_an_interrupted_rebuild_resumes(
    log: RecordingLog, database: ProjectionDatabase, projector: Projector
) -> None:
    await three_sessions(log, projector)
    before = await rows(database)

    async def interrupt(after: int) -> None:
        assert await rows(database) == before, "the rows in use stay complete during the rebuild"
        if after >= 35:
            raise KilledError

    log.before = interrupt
    with pytest.raises(KilledError):
        await rebuild_from(log, database, lambda *_: None)
    assert await rows(database) == before
    log.before, log.pages = None, []
    progress: list[int] = []
    await rebuild_from(log, database, lambda reached, _: progress.append(reached))
    assert (log.pages[0], progress[0]) == (28, 42)
    assert await rows(database) == before


@pytest.mark.usefixtures("small_pages")
@pytest.mark.parametrize("difference", ["release", "stream"])
async def test_the_partial_rebuild_of_another_release_or_log_is_discarded(
    log: RecordingLog,
    database: ProjectionDatabase,
    projector: Projector,
    monkeypatch: pytest.MonkeyPatch,
    difference: str,
) -> None:
    await three_sessions(log, projector)

    async def interrupt(after: int) -> None:
        if after >= 35:
            raise KilledError

    log.before = interrupt
    with pytest.raises(KilledError):
        await rebuild_from(log, database, lambda *_: None)
    if difference == "release":
        monkeypatch.setattr(shadow_tables, "release_digest", lambda: "the next one")
    else:
        log = RecordingLog()
        log.created = "later"
        await three_sessions(log, projector)
    log.before, log.pages = None, []
    await rebuild_from(log, database, lambda *_: None)
    assert log.pages[0] == 0


@pytest.mark.usefixtures("small_pages")
async def test_sessions_projected_during_a_rebuild_are_up_to_date_afterwards(
    log: RecordingLog, database: ProjectionDatabase, projector: Projector
) -> None:
    stories = await three_sessions(log, projector)
    end = len(log.messages)
    new_session = Conversation(log)

    async def append_at_end(after: int) -> None:
        if after == end and log.pages[-1] != end:
            log.pages.append(end)
            await stories[0].commit(c.Say(text="And now in colour"))
            await new_session.plan()
            for story in (stories[0], new_session):
                await projector.load(story.id)

    async def append_and_swap(shadow_: shadow_tables.ShadowTables) -> None:
        await stories[1].commit(c.Say(text="And now in sepia"))
        await projector.load(stories[1].id)
        await swap(shadow_)

    log.before, swap = append_at_end, shadow_tables.ShadowTables.swap
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shadow_tables.ShadowTables, "swap", append_and_swap)
        await rebuild_from(log, database, lambda *_: None)
    after = await rows(database)
    assert len(after["journal"]) == len(log.messages)
    await rebuild_from(log, database, lambda *_: None)
    assert await rows(database) == after


async def test_two_rebuilds_at_once_are_refused(
    log: RecordingLog, database: ProjectionDatabase, projector: Projector
) -> None:
    await three_sessions(log, projector)

    async def second_rebuild(_: int) -> None:
        log.before = None
        with pytest.raises(RebuildRefused, match="Another rebuild is under way"):
            await rebuild_from(log, database, lambda *_: None)

    log.before = second_rebuild
    await rebuild_from(log, database, lambda *_: None)
    assert log.before is None


async def test_a_session_that_cannot_be_written_does_not_block_others(
    log: RecordingLog, database: ProjectionDatabase, projector: Projector, monkeypatch: pytest.MonkeyPatch
) -> None:
    stories = await three_sessions(log, projector)
    original = changes_for

    def broken(step: FoldedMessage) -> Iterator[RowChange]:
        for change in original(step):
            if step.after.session.id == stories[1].id and isinstance(change, Upsert):
                change.values.pop("position", None)
            yield change

    monkeypatch.setattr(log_replay, "changes_for", broken)
    await rebuild_from(log, database, lambda *_: None)
    async with database.begin() as tx:
        session_ids = set(await tx.scalars(select(t.journal.c.session_id).group_by(t.journal.c.session_id)))
        assert await tx.scalar(select(func.count()).select_from(t.sessions)) == 2
    assert session_ids == {stories[0].id, stories[2].id}


def test_the_digest_of_a_release_is_of_code_that_exists() -> None:
    for folder in shadow_tables.RULES:
        assert any((shadow_tables.ROOT / folder).rglob("*.py")), folder


class NewLeadersLog(InMemoryLog):
    """A cluster's log whose new leader has the last message only at the third look, or never."""

    def __init__(self, *, missing: float) -> None:
        super().__init__()
        self.clustered, self._missing = True, missing

    async def extent(self) -> LogExtent:
        self._missing -= 1
        whole = await super().extent()
        return whole._replace(last=whole.last - 1) if self._missing > 0 else whole


async def test_a_new_leader_is_waited_for_before_the_database_counts_as_ahead(
    projector: Projector, database: ProjectionDatabase, log: RecordingLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    await three_sessions(log, projector)
    monkeypatch.setattr(health, "EXTENT_INTERVAL", 0)
    late, broken = NewLeadersLog(missing=3), NewLeadersLog(missing=float("inf"))
    late.messages = broken.messages = log.messages
    await check_database_not_ahead(database, late)
    monkeypatch.setattr(health, "ELECTION_TIMEOUT", 0)
    with pytest.raises(DatabaseAheadOfLog):
        await check_database_not_ahead(database, broken)
