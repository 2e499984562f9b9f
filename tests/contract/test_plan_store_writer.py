"""Deliveries are folded at once and written in batches: none is lost, and one failure does not delay others."""

import asyncio
from itertools import zip_longest
from typing import Any

import pytest
from sqlalchemy import select

from services.plan_store import tables as t
from services.plan_store.database import ProjectionDatabase, RowChange, Upsert
from services.plan_store.projection import projector as projection_module
from services.plan_store.projection import writer as writing_module
from services.plan_store.projection.history import FoldedMessage, ProjectedSession
from services.plan_store.projection.projector import Projector
from services.plan_store.projection.rows import changes_for
from shared.domain.kernel import commands as c
from shared.log import StoredMessage
from shared.testing import InMemoryLog
from tests.support.plan_store import rows
from tests.support.stories import Conversation, approve

pytest_plugins = ("tests.support.postgres", "tests.support.plan_store_fixtures")


class CountedLog(InMemoryLog):
    """Counts how often it is read."""

    def __init__(self) -> None:
        super().__init__()
        self.reads = 0

    async def read(
        self, session_id: str, *, after: int = 0, limit: int = 1000, leader: bool = False
    ) -> list[StoredMessage]:
        self.reads += 1
        return await super().read(session_id, after=after, limit=limit, leader=leader)


def session_of(raw: StoredMessage) -> str:
    return raw.subject.split(".")[1]


async def deliver(projector: Projector, raws: list[StoredMessage]) -> list[BaseException | None]:
    nudges = (projector.project_up_to(session_of(raw), raw.position, raw) for raw in raws)
    return await asyncio.gather(*nudges, return_exceptions=True)


async def test_deliveries_produce_the_rows_of_the_log_without_reading_it(database: ProjectionDatabase) -> None:
    log = CountedLog()
    stories = [Conversation(log) for _ in range(3)]
    for story in stories:
        await story.whole()
    log.reads = 0
    by_session = [[raw for raw in log.messages if session_of(raw) == story.id] for story in stories]
    interleaved = [raw for together in zip_longest(*by_session) for raw in together if raw]
    projector = Projector(log, database)
    for start in range(0, len(interleaved), 7):
        assert not any(await deliver(projector, interleaved[start : start + 7]))
    assert log.reads == 0
    changes = await rows(database)
    async with database.begin() as tx:
        await tx.execute(t.sessions.delete())
    again = Projector(log, database)
    for story in stories:
        await again.load(story.id)
    assert await rows(database) == changes


async def test_a_possible_gap_is_read_from_the_log(database: ProjectionDatabase) -> None:
    log = CountedLog()
    story = Conversation(log)
    await story.plan()
    await story.commit(approve)
    first, _, third = log.messages
    projector = Projector(log, database)
    log.reads = 0
    assert not any(await deliver(projector, [first, third]))  # another replica got the second
    assert log.reads == 1
    assert await projector.load(story.id) == await story.load_at_position()
    log.clustered = True
    second = Projector(log, database)
    await story.commit(c.DraftCode(code="print(1)\n", explanation=""))
    log.reads = 0
    assert not any(await deliver(second, log.messages[2:]))
    assert log.reads == 1, "the projector has read the log once, because the third message is in the rows"


async def test_load_state_does_not_wait_for_the_rows(database: ProjectionDatabase, log: InMemoryLog) -> None:
    story = Conversation(log)
    await story.plan()
    projector = Projector(log, database)
    assert await projector.load_state(story.id, at_least=2) == await story.load_at_position()
    async with database.begin() as tx:
        assert await tx.scalar(select(t.sessions.c.id)) is None
    waiting = asyncio.create_task(projector.load_state(story.id, at_least=3))
    await asyncio.sleep(0)
    await story.commit(approve)
    await projector.project_up_to(story.id, 3, log.messages[2])
    assert await waiting == await story.load_at_position()


async def test_a_transaction_waits_for_more_sessions_unless_a_request_waits(
    database: ProjectionDatabase, log: InMemoryLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing_module, "BATCH_DELAY", 3600)
    projector, projected = Projector(log, database), []

    async def on_projected(before: ProjectedSession, after: ProjectedSession) -> None:
        projected.append((before.position, after.position))

    projector.on_projected = on_projected
    story = Conversation(log)
    await story.plan()
    first, second = log.messages
    nudges = [asyncio.create_task(projector.project_up_to(story.id, raw.position, raw)) for raw in (first, second)]
    await projector.load_state(story.id, at_least=2)
    assert projected == []
    assert await projector.load(story.id) == await story.load_at_position()
    await asyncio.gather(*nudges)
    assert projected == [(0, 2)]


async def test_replicas_that_each_get_every_other_message_agree(
    database: ProjectionDatabase, log: InMemoryLog, url: str
) -> None:
    other = ProjectionDatabase(url)
    replicas = [Projector(log, database), Projector(log, other)]
    stories = [Conversation(log) for _ in range(3)]
    for story in stories:
        await story.whole()
    halves = [log.messages[0::2], log.messages[1::2]]
    both = await asyncio.gather(*(deliver(replica, half) for replica, half in zip(replicas, halves, strict=True)))
    assert not any(error for errors in both for error in errors)
    for story in stories:
        for replica in replicas:
            assert await replica.load(story.id) == await story.load_at_position()
    raced = await rows(database)
    assert len(raced["journal"]) == len(log.messages)
    await other.close()


async def test_a_session_that_cannot_be_written_does_not_delay_others(
    database: ProjectionDatabase, log: InMemoryLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = Conversation(log), Conversation(log)
    await good.plan()
    await bad.plan()

    def with_invalid_row(step: FoldedMessage) -> list[RowChange]:
        changes: list[Any] = list(changes_for(step))
        if step.after.session.id == bad.id:
            changes.append(Upsert(t.plans, {"session_id": bad.id, "number": None}))
        return changes

    projector = Projector(log, database)
    with monkeypatch.context() as patch:
        patch.setattr(projection_module, "changes_for", with_invalid_row)
        projected = await deliver(projector, log.messages)
    assert [session_of(raw) for raw, error in zip(log.messages, projected, strict=True) if error] == [bad.id] * 2
    assert (await projector.load(good.id)).session.version == 2
    assert not any(await deliver(projector, log.messages)), (
        "the session continues from its row once its changes are valid"
    )
    assert (await projector.load(bad.id)) == await bad.load_at_position()
