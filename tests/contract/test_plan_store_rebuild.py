"""A rebuild, on SQLite and on PostgreSQL: the same rows from the log, beside those in use until all are there."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime

import pytest
from sqlalchemy import func, select

from services.plan_store import refold, shadow
from services.plan_store import tables as t
from services.plan_store.change import Change, Put
from services.plan_store.database import Database
from services.plan_store.history import Step
from services.plan_store.projection import Projector
from services.plan_store.rebuild import RebuildRefused, rebuild_from
from services.plan_store.rows import changes
from shared.domain import commands as c
from shared.domain.commands import CommandMeta
from shared.log import StoredMessage, fork
from shared.testing import InMemoryLog, session_ids
from tests.support.plan_store import rows
from tests.support.stories import Conversation

pytest_plugins = ("tests.support.postgres", "tests.support.plan_store_fixtures")


class KilledError(Exception):
    """Ends a rebuild as a kill would: without a last word."""


class Paged(InMemoryLog):
    """Tells after which positions all messages are read, and does something before."""

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
def log() -> Paged:
    return Paged()


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many pages and transactions, and next to nothing is remembered between them."""
    monkeypatch.setattr(refold, "PAGE", 7)
    monkeypatch.setattr(refold, "MESSAGES", 14)
    monkeypatch.setattr(refold, "REMEMBERED", 1)


async def told(log: InMemoryLog, projector: Projector) -> list[Conversation]:
    """Three sessions, side by side and projected."""
    stories = [Conversation(log) for _ in range(3)]
    await asyncio.gather(*(story.whole() for story in stories))
    for story in stories:
        await projector.load(story.id)
    return stories


async def test_rebuild_makes_the_same_rows_again(log: InMemoryLog, database: Database, projector: Projector) -> None:
    stories = [Conversation(log) for _ in range(3)]
    for story in stories:
        await story.whole()
    await fork(log, await stories[0].load(), "forked", CommandMeta("user:bob", datetime.now(UTC), "f"))
    log.publish("session.odd id.planner.x", b"garbage")
    log.publish(f"session.{stories[1].id}.planner.x", b"garbage")
    for session_id in await session_ids(log):
        await projector.nudge(session_id, 2**62)
    before = await rows(database)
    assert all(
        before[name]
        for name in ("sessions", "journal", "plans", "code_versions", "turns", "actions", "parked_messages")
    )

    async with database.begin() as tx:  # whatever became of the rows
        await tx.execute(t.plans.update().values(goal="tampered"))
        await tx.execute(t.sessions.delete().where(t.sessions.c.id == stories[2].id))
    told: list[tuple[int, int]] = []
    report = await rebuild_from(log, database, lambda done, of: told.append((done, of)))
    assert await rows(database) == before
    assert (report.sessions, report.events, report.parked) == (4, len(before["journal"]), 2)
    assert told[-1] == (len(log.messages), len(log.messages))


async def test_rebuild_while_the_service_works(log: InMemoryLog, database: Database, projector: Projector) -> None:
    stories = [Conversation(log) for _ in range(5)]
    for story in stories:
        await story.whole()
        await projector.load(story.id)

    async def work() -> None:
        for story in stories:
            await story.commit(c.Say(text="And now in colour"))
            assert await projector.load(story.id) == await story.loaded()

    await asyncio.gather(rebuild_from(log, database, lambda *_: None), work())
    for story in stories:
        assert await projector.load(story.id) == await story.loaded()
    before = await rows(database)
    await rebuild_from(log, database, lambda *_: None)
    assert await rows(database) == before


async def test_rebuild_refuses_an_empty_log(log: InMemoryLog, database: Database, projector: Projector) -> None:
    story = Conversation(log)
    await story.plan()
    await projector.load(story.id)
    before = await rows(database)
    with pytest.raises(RebuildRefused):
        await rebuild_from(InMemoryLog(), database, lambda *_: None)
    assert await rows(database) == before


@pytest.mark.usefixtures("small")
async def test_what_is_not_remembered_is_in_the_rows(log: Paged, database: Database, projector: Projector) -> None:
    await told(log, projector)
    before = await rows(database)
    await rebuild_from(log, database, lambda *_: None)
    assert await rows(database) == before
    assert len(log.pages) > 8


@pytest.mark.usefixtures("small")
async def test_a_rebuild_that_broke_off_goes_on_where_it_was(
    log: Paged, database: Database, projector: Projector
) -> None:
    await told(log, projector)
    before = await rows(database)

    async def breaks(after: int) -> None:
        assert await rows(database) == before, "the lists have everything meanwhile"
        if after >= 35:
            raise KilledError

    log.before = breaks
    with pytest.raises(KilledError):
        await rebuild_from(log, database, lambda *_: None)
    assert await rows(database) == before
    log.before, log.pages = None, []
    done: list[int] = []
    await rebuild_from(log, database, lambda reached, _: done.append(reached))
    assert (log.pages[0], done[0]) == (28, 42)
    assert await rows(database) == before


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("other", ["release", "stream"])
async def test_what_another_release_or_another_log_left_is_not_gone_on_with(
    log: Paged, database: Database, projector: Projector, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    await told(log, projector)

    async def breaks(after: int) -> None:
        if after >= 35:
            raise KilledError

    log.before = breaks
    with pytest.raises(KilledError):
        await rebuild_from(log, database, lambda *_: None)
    if other == "release":
        monkeypatch.setattr(shadow, "release", lambda: "the next one")
    else:
        log = Paged()
        log.created = "later"
        await told(log, projector)
    log.before, log.pages = None, []
    await rebuild_from(log, database, lambda *_: None)
    assert log.pages[0] == 0


@pytest.mark.usefixtures("small")
async def test_what_is_projected_meanwhile_is_as_new_afterwards(
    log: Paged, database: Database, projector: Projector
) -> None:
    stories = await told(log, projector)
    end = len(log.messages)
    began = Conversation(log)

    async def goes_on(after: int) -> None:
        if after == end and log.pages[-1] != end:
            log.pages.append(end)
            await stories[0].commit(c.Say(text="And now in colour"))
            await began.plan()
            for story in (stories[0], began):
                await projector.load(story.id)

    async def swapped(shadow_: shadow.Shadow) -> None:
        await stories[1].commit(c.Say(text="And now in sepia"))
        await projector.load(stories[1].id)
        await swap(shadow_)

    log.before, swap = goes_on, shadow.Shadow.swap
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shadow.Shadow, "swap", swapped)
        await rebuild_from(log, database, lambda *_: None)
    after = await rows(database)
    assert len(after["journal"]) == len(log.messages)
    await rebuild_from(log, database, lambda *_: None)
    assert await rows(database) == after


async def test_two_rebuilds_at_once_are_refused(log: Paged, database: Database, projector: Projector) -> None:
    await told(log, projector)

    async def again(_: int) -> None:
        log.before = None
        with pytest.raises(RebuildRefused, match="Another rebuild is under way"):
            await rebuild_from(log, database, lambda *_: None)

    log.before = again
    await rebuild_from(log, database, lambda *_: None)
    assert log.before is None


async def test_what_cannot_be_written_keeps_no_other_from_its_rows(
    log: Paged, database: Database, projector: Projector, monkeypatch: pytest.MonkeyPatch
) -> None:
    stories = await told(log, projector)
    made = changes

    def broken(step: Step) -> Iterator[Change]:
        for change in made(step):
            if step.after.session.id == stories[1].id and isinstance(change, Put):
                change.values.pop("position", None)
            yield change

    monkeypatch.setattr(refold, "changes", broken)
    await rebuild_from(log, database, lambda *_: None)
    async with database.begin() as tx:
        kept = set(await tx.scalars(select(t.journal.c.session_id).group_by(t.journal.c.session_id)))
        assert await tx.scalar(select(func.count()).select_from(t.sessions)) == 2
    assert kept == {stories[0].id, stories[2].id}
