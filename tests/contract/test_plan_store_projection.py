"""The projection's rows match the log exactly, also after crashes and races, on SQLite and on PostgreSQL."""

import asyncio
import json
import random
from datetime import UTC, datetime
from typing import Any

import pytest
from sqlalchemy import select

from parley.events import dump_event, facts
from services.plan_store import tables as t
from services.plan_store.database import ProjectionDatabase, RowChange
from services.plan_store.handlers import run_when_available
from services.plan_store.operations.rebuild import rebuild_from
from services.plan_store.projection import projector as projection_module
from services.plan_store.projection.history import FoldedMessage
from services.plan_store.projection.projector import Projector
from services.plan_store.projection.rows import changes_for
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.session import Session
from shared.domain.rules.decide import decide
from shared.domain.transcript.forks import carry_over
from shared.log import fork, guard_headers
from shared.store_api import StoreError
from shared.testing import InMemoryLog
from tests.support.plan_store import rows
from tests.support.stories import STEPS, Conversation, approve

pytest_plugins = ("tests.support.postgres", "tests.support.plan_store_fixtures")


async def fetch(database: ProjectionDatabase, *columns: Any) -> list[tuple[Any, ...]]:
    async with database.begin() as tx:
        return [tuple(row) for row in await tx.execute(select(*columns).order_by(*columns))]


# --- the rows of a session


async def test_rows_record_a_complete_conversation(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    story = Conversation(log)
    session = await story.whole()
    await projector.project_up_to(story.id, log.last(story.id))

    s = t.sessions.c
    assert await fetch(database, s.id, s.owner, s.title, s.phase, s.state, s.version, s.position, s.work_service) == [
        (story.id, "ann", "My 100% calculator", "resting", "completed", session.version, log.last(story.id), None)
    ]
    p = t.plans.c
    assert await fetch(database, p.number, p.status, p.goal, p.by) == [
        (1, "rejected", "A calculator", "planner"),
        (2, "superseded", "A calculator for floats", "planner"),
        (3, "completed", "A calculator for floats", "user:ann"),
    ]
    k = t.code_versions.c
    assert await fetch(database, k.number, k.status, k.code) == [
        (1, "rejected", "print(1 / 0)\n"),
        (2, "approved", "print(1.5 + 2)\n"),
    ]
    assert await fetch(database, t.usage.c.model, t.usage.c.prompt_tokens, t.usage.c.cost) == [("m", 10, 0.25)]
    assert await fetch(database, t.shares.c.user, t.shares.c.role) == [("bob", "approver")]
    versions = [version for (version,) in await fetch(database, t.journal.c.version)]
    assert versions == list(range(1, session.version + 1))
    assert await fetch(database, t.parked_messages.c.position) == []


# --- exactly once


async def test_redelivery_in_any_order_changes_nothing(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    story = Conversation(log)
    await story.whole()
    positions = [raw.position for raw in log.messages]
    random.Random(7).shuffle(positions)
    await projector.project_up_to(story.id, positions[0])
    before = await rows(database)
    for position in positions:
        await projector.project_up_to(story.id, position)
        await Projector(log, database).project_up_to(story.id, position)  # another replica with an empty cache
    assert await rows(database) == before


async def test_a_session_projected_event_by_event_has_the_rows_of_one_projected_at_once(
    log: InMemoryLog, database: ProjectionDatabase
) -> None:
    story = Conversation(log)
    await story.whole()
    growing = InMemoryLog()
    for raw in log.messages:
        growing.messages.append(raw)
        await Projector(growing, database).project_up_to(story.id, raw.position)
    one_by_one = await rows(database)
    await rebuild_from(log, database, lambda *_: None)
    assert await rows(database) == one_by_one


async def test_replicas_racing_on_one_database_project_each_event_once(log: InMemoryLog, url: str) -> None:
    databases = [ProjectionDatabase(url) for _ in range(3)]
    # Retry as the service does: SQLite fails at once if another connection has locked the file.
    await asyncio.gather(*(run_when_available(database.migrate) for database in databases))
    replicas = [Projector(log, database) for database in databases]
    stories = [Conversation(log) for _ in range(4)]

    async def project_repeatedly(replica: Projector, seed: int) -> None:
        generator = random.Random(seed)
        for _ in range(40):
            story = generator.choice(stories)
            await replica.project_up_to(story.id, log.last(story.id))
            await asyncio.sleep(0)

    projecting = [project_repeatedly(replica, seed) for seed, replica in enumerate(replicas)]
    await asyncio.gather(*(story.whole() for story in stories), *projecting)
    for story in stories:
        await asyncio.gather(*(replica.project_up_to(story.id, log.last(story.id)) for replica in replicas))
    after_race = await rows(databases[0])
    await rebuild_from(log, databases[0], lambda *_: None)
    assert await rows(databases[0]) == after_race
    assert len(after_race["journal"]) == len(log.messages)
    for database in databases:
        await database.close()


async def test_a_crash_within_the_transaction_leaves_nothing_and_after_it_everything(
    log: InMemoryLog, database: ProjectionDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = Conversation(log)
    await story.whole()

    def crash(step: FoldedMessage) -> list[RowChange]:
        if step.event and step.event.version == 9:
            raise KeyboardInterrupt
        return list(changes_for(step))

    with monkeypatch.context() as patch:
        patch.setattr(projection_module, "changes_for", crash)
        with pytest.raises(KeyboardInterrupt):
            await Projector(log, database).project_up_to(story.id, log.last(story.id))
    assert not any((await rows(database)).values())

    # This replica commits, and crashes before it acknowledges the delivery.
    await Projector(log, database).project_up_to(story.id, log.last(story.id))
    projected = await rows(database)
    await Projector(log, database).project_up_to(story.id, log.last(story.id))
    assert await rows(database) == projected
    assert len(projected["journal"]) == len(log.messages)


# --- loading


async def test_load_is_never_stale_and_never_ahead_of_the_log(log: InMemoryLog, projector: Projector) -> None:
    story = Conversation(log)
    assert (await projector.load(story.id)).session.version == 0
    await story.plan()
    loaded = await projector.load(story.id, at_least=log.last(story.id))
    assert loaded == await story.load_at_position()
    with pytest.raises(StoreError) as refusal:
        await projector.load(story.id, at_least=loaded.position + 1)
    assert refusal.value.code == "behind"


class LogWithLaggingReplica(InMemoryLog):
    """A log whose replica has only the first message, and whose leader has all."""

    async def read(self, session_id: str, *, after: int = 0, limit: int = 1000, leader: bool = False) -> list[Any]:
        messages = await super().read(session_id, after=after, limit=limit)
        return messages if leader else [raw for raw in messages if raw.position <= 1]


@pytest.mark.parametrize("at_least", [0, 2])
async def test_load_reads_through_the_leader_when_a_replica_lags(database: ProjectionDatabase, at_least: int) -> None:
    """Also without `at_least`: a session that one client has seen must not be older for another."""
    log, newest = LogWithLaggingReplica(), InMemoryLog()
    log.clustered = True
    story = Conversation(newest)
    await story.plan()
    log.messages = newest.messages
    loaded = await Projector(log, database).load(story.id, at_least=at_least)
    assert (loaded.position, loaded.session.version) == (2, 2)


async def test_a_delivery_is_projected_also_when_a_replica_lags(database: ProjectionDatabase) -> None:
    """The delivery is acknowledged afterwards, so rows that are behind would stay behind."""
    log, newest = LogWithLaggingReplica(), InMemoryLog()
    log.clustered = True
    story = Conversation(newest)
    await story.plan()
    log.messages = newest.messages
    await Projector(log, database).project_up_to(story.id, 2, log.messages[1])
    async with database.begin() as tx:
        assert await tx.scalar(select(t.sessions.c.position)) == 2


async def test_a_session_is_loaded_as_of_an_earlier_version(log: InMemoryLog, projector: Projector) -> None:
    story = Conversation(log)
    session = await story.whole()
    for version in (1, 2, 5, session.version):
        loaded = await projector.load(story.id, version=version)
        assert loaded.session.version == version
    assert (await projector.load(story.id, version=2)).session.phase == "awaiting_approval"
    with pytest.raises(StoreError) as refusal:
        await projector.load(story.id, version=session.version + 1)
    assert refusal.value.code == "unknown"


async def test_a_snapshot_of_another_release_is_replaced(log: InMemoryLog, database: ProjectionDatabase) -> None:
    story = Conversation(log)
    await story.plan()
    await Projector(log, database).load(story.id)
    async with database.begin() as tx:
        await tx.execute(t.sessions.update().values(snapshot={"id": story.id, "shape": "of another time"}))
    await story.commit(approve)
    assert await Projector(log, database).load(story.id) == await story.load_at_position()


# --- messages that are not events


async def test_unreadable_messages_are_quarantined_and_do_not_block_later_events(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    story = Conversation(log)
    log.publish(f"session.{story.id}.planner.message.received", b"\x00\xff not json \x00")
    await story.plan()
    log.publish(f"session.{story.id}.planner.plan.drafted", b"{}", guard_headers(story.id, log.last(story.id), "x"))
    log.publish(f"session.{story.id}.nobody.what.ever", b"unguarded")
    loaded = await projector.load(story.id)
    assert loaded.position == 5
    assert loaded.session.version == 2
    assert [position for (position,) in await fetch(database, t.parked_messages.c.position)] == [1, 4, 5]
    await story.commit(approve)
    assert (await projector.load(story.id)).session.phase == "coding"


@pytest.mark.parametrize("invalid_id", ["a b", "x" * 300, "é", "'; drop table sessions; --", "a\nb"])
async def test_messages_under_invalid_ids_are_quarantined_once(
    invalid_id: str, log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    for _ in range(2):
        position = log.publish(f"session.{invalid_id}.planner.message.received", b"{}")
        for _ in range(2):
            await projector.project_up_to(invalid_id, position)
    assert len(await fetch(database, t.parked_messages.c.position)) == 2
    assert all(len(stored_id) <= 64 for (stored_id,) in await fetch(database, t.parked_messages.c.session_id))
    assert await fetch(database, t.sessions.c.id) == []


async def test_values_that_databases_reject_do_not_block_the_projection(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    story = Conversation(log, "hostile")
    text = "a\x00b \U0001f600 'quoted' \\ %"
    first = facts.MessageReceived(
        id="1",
        session_id=story.id,
        version=1,
        at=datetime.now(UTC),
        actor="user:o'b\x00",
        text=text,
        workflow="agentflow",
    )
    body = json.loads(dump_event(first)) | {"at": "0001-01-01T00:00:00+14:00"}
    log.publish("session.hostile.planner.message.received", json.dumps(body).encode())
    turn = facts.TurnPlanned(
        id="hostile:1:turn.planned",
        session_id=story.id,
        version=2,
        at=datetime.max.replace(tzinfo=UTC),
        actor="planner",
        turn=10**30,
        sub_goal="x",
        actions=({"id": "same", "tool": "t", "arguments": {"n": 10**40}}, {"id": "same", "tool": "t"}),
    )
    log.publish("session.hostile.executor.turn.planned", dump_event(turn), guard_headers(story.id, 1, "2"))
    fields = {"model": "m", "role": "r", "prompt_tokens": 10**25, "cached_tokens": 0, "completion_tokens": 0}
    usage = {"id": "3", "session_id": story.id, "version": 3, "at": "9999-12-31T23:59:59-12:00", "actor": "x"}
    calls = [fields | {"latency": 0, "attempt": 1, "cost": 1}] * 3
    spent = json.dumps(usage | {"type": "usage.recorded", "usage": calls})
    log.publish("session.hostile.nobody.usage.recorded", spent.encode(), guard_headers(story.id, 2, "3"))

    loaded = await projector.load(story.id)
    assert loaded.session.version == 3, await fetch(database, t.parked_messages.c.reason)
    assert await fetch(database, t.sessions.c.owner) == [("o'b\ufffd",)]
    before = await rows(database)
    await rebuild_from(log, database, lambda *_: None)
    assert await rows(database) == before


# --- forks


async def test_a_fork_has_its_parents_state_at_that_version(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    parent = Conversation(log)
    parent_state = await parent.plan()
    child = Conversation(log, user="bob")
    await fork(log, parent_state, child.id, CommandMeta("user:bob", datetime.now(UTC), "f1"))
    await parent.commit(approve)
    session = (await projector.load(child.id)).session
    assert session.plan is not None
    assert (session.parent_id, session.owner, session.phase) == (parent.id, "bob", "awaiting_approval")
    assert session.plan.steps == STEPS

    grandchild = Conversation(log, user="eve")
    await fork(log, session, grandchild.id, CommandMeta("user:eve", datetime.now(UTC), "f2"))
    await projector.project_up_to(grandchild.id, log.last(grandchild.id))
    goals = await fetch(database, t.plans.c.goal)
    assert goals == [("A calculator",)] * 2, "the parent itself is not projected yet"
    await grandchild.commit(approve)
    await projector.project_up_to(parent.id, log.last(parent.id))
    assert (await projector.load(grandchild.id)).session.phase == "coding"
    before = await rows(database)
    await rebuild_from(log, database, lambda *_: None)
    after = await rows(database)
    assert after == before


async def test_a_fork_is_projected_without_its_parent(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    """The projection does not read the parent, which may be shorter than the fork says, unknown, or the fork itself."""
    parent = Conversation(log)
    parent_state = await parent.plan()
    for number, parent_id in enumerate((parent.id, "nowhere", "fork2")):
        session_id = f"fork{number}"
        meta = CommandMeta("user:bob", datetime.now(UTC), "f")
        command = c.Fork(parent_id=parent_id, parent_version=99, carried=carry_over(parent_state))
        event = decide(Session(session_id), command, meta)
        log.publish(f"session.{session_id}.user.session.forked", dump_event(event))
        session = (await projector.load(session_id)).session
        assert (session.version, session.parent_id, session.words.request) == (1, parent_id, parent_state.words.request)
        assert session.plan
        assert session.plan.steps == STEPS
    await projector.load(parent.id)
    before = await rows(database)
    await rebuild_from(log, database, lambda *_: None)
    assert await rows(database) == before
