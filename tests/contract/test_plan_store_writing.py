"""What deliveries bring is folded at once and written together: none is lost, none waits for another's fault."""

import asyncio
from itertools import zip_longest
from typing import Any

import pytest
from sqlalchemy import select

from services.plan_store import projection as projection_module
from services.plan_store import tables as t
from services.plan_store import writing as writing_module
from services.plan_store.change import Change, Put
from services.plan_store.database import Database
from services.plan_store.folded import Folded
from services.plan_store.history import Step
from services.plan_store.projection import Projector
from services.plan_store.rows import changes
from shared.domain import commands as c
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


def of(raw: StoredMessage) -> str:
    return raw.subject.split(".")[1]


async def deliver(projector: Projector, raws: list[StoredMessage]) -> list[BaseException | None]:
    nudges = (projector.nudge(of(raw), raw.position, raw) for raw in raws)
    return await asyncio.gather(*nudges, return_exceptions=True)


async def test_deliveries_alone_make_the_rows_that_the_log_makes(database: Database) -> None:
    log = CountedLog()
    stories = [Conversation(log) for _ in range(3)]
    for story in stories:
        await story.whole()
    log.reads = 0
    own = [[raw for raw in log.messages if of(raw) == story.id] for story in stories]
    in_turns = [raw for together in zip_longest(*own) for raw in together if raw]
    projector = Projector(log, database)
    for start in range(0, len(in_turns), 7):
        assert not any(await deliver(projector, in_turns[start : start + 7]))
    assert log.reads == 0
    found = await rows(database)
    async with database.begin() as tx:
        await tx.execute(t.sessions.delete())
    again = Projector(log, database)
    for story in stories:
        await again.load(story.id)
    assert await rows(database) == found


async def test_what_may_hide_something_is_read_from_the_log(database: Database) -> None:
    log = CountedLog()
    story = Conversation(log)
    await story.plan()
    await story.commit(approve)
    first, _, third = log.messages
    stranger = Projector(log, database)
    log.reads = 0
    assert not any(await deliver(stranger, [first, third]))  # another replica was given the second
    assert log.reads == 1
    assert await stranger.load(story.id) == await story.loaded()
    log.clustered = True
    careful = Projector(log, database)
    await story.commit(c.DraftCode(code="print(1)\n", explanation=""))
    log.reads = 0
    assert not any(await deliver(careful, log.messages[2:]))
    assert log.reads == 1, "the third is in the rows already"


async def test_a_look_does_not_wait_for_the_rows(database: Database, log: InMemoryLog) -> None:
    story = Conversation(log)
    await story.plan()
    projector = Projector(log, database)
    assert await projector.look(story.id, at_least=2) == await story.loaded()
    async with database.begin() as tx:
        assert await tx.scalar(select(t.sessions.c.id)) is None
    waiting = asyncio.create_task(projector.look(story.id, at_least=3))
    await asyncio.sleep(0)
    await story.commit(approve)
    await projector.nudge(story.id, 3, log.messages[2])
    assert await waiting == await story.loaded()


async def test_a_transaction_waits_for_more_unless_somebody_waits_for_the_rows(
    database: Database, log: InMemoryLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writing_module, "GATHERS", 3600)
    projector, told = Projector(log, database), []

    async def moved(before: Folded, after: Folded) -> None:
        told.append((before.position, after.position))

    projector.on_moved = moved
    story = Conversation(log)
    await story.plan()
    first, second = log.messages
    nudges = [asyncio.create_task(projector.nudge(story.id, raw.position, raw)) for raw in (first, second)]
    await projector.look(story.id, at_least=2)
    assert told == []
    assert await projector.load(story.id) == await story.loaded()
    await asyncio.gather(*nudges)
    assert told == [(0, 2)]


async def test_replicas_that_are_given_every_other_message_agree(
    database: Database, log: InMemoryLog, url: str
) -> None:
    other = Database(url)
    replicas = [Projector(log, database), Projector(log, other)]
    stories = [Conversation(log) for _ in range(3)]
    for story in stories:
        await story.whole()
    halves = [log.messages[0::2], log.messages[1::2]]
    both = await asyncio.gather(*(deliver(one, half) for one, half in zip(replicas, halves, strict=True)))
    assert not any(error for errors in both for error in errors)
    for story in stories:
        for replica in replicas:
            assert await replica.load(story.id) == await story.loaded()
    raced = await rows(database)
    assert len(raced["journal"]) == len(log.messages)
    await other.close()


async def test_one_that_cannot_be_written_keeps_nobody_up(
    database: Database, log: InMemoryLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    good, bad = Conversation(log), Conversation(log)
    await good.plan()
    await bad.plan()

    def spoilt(step: Step) -> list[Change]:
        found: list[Any] = list(changes(step))
        if step.after.session.id == bad.id:
            found.append(Put(t.plans, {"session_id": bad.id, "number": None}))
        return found

    projector = Projector(log, database)
    with monkeypatch.context() as patch:
        patch.setattr(projection_module, "changes", spoilt)
        told = await deliver(projector, log.messages)
    assert [of(raw) for raw, error in zip(log.messages, told, strict=True) if error] == [bad.id] * 2
    assert (await projector.load(good.id)).session.version == 2
    assert not any(await deliver(projector, log.messages)), "mended, it goes on from its row"
    assert (await projector.load(bad.id)) == await bad.loaded()
