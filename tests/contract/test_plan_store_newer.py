"""Sessions that a newer release has continued: plan_store leaves their rows unchanged until it is upgraded."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from sqlalchemy import select, text

from parley.events import envelope, parse_event
from parley.events.values import Stored
from services.plan_store import tables as t
from services.plan_store.database import ProjectionDatabase
from services.plan_store.handlers import RequestHandlers
from services.plan_store.operations.purge import purge
from services.plan_store.operations.rebuild import rebuild_from
from services.plan_store.projection import unprojected
from services.plan_store.projection.projector import Projector
from services.plan_store.queries.sessions import health
from services.plan_store.scheduler.scheduler import Scheduler
from shared import store_api as api
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.log import commit, guard_headers
from shared.store_api import PurgeSession, StoreError
from shared.testing import InMemoryLog, InMemoryStore
from tests.contract.test_plan_store_requests import Client
from tests.logs.exporter import export
from tests.logs.recorded import load, names
from tests.support.broker import Broker
from tests.support.newer_release import NEEDS, newer_message
from tests.support.stories import Conversation

pytest_plugins = ("tests.support.postgres", "tests.support.plan_store_fixtures")


async def fetch(database: ProjectionDatabase, *columns: Any) -> list[tuple[Any, ...]]:
    async with database.begin() as tx:
        return [tuple(row) for row in await tx.execute(select(*columns))]


@asynccontextmanager
async def newer_release(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[None]:
    with monkeypatch.context() as patched:
        patched.setattr(envelope, "FORMAT", NEEDS["needs"])
        yield


async def append_newer_event(log: InMemoryLog, story: Conversation) -> None:
    """Append the session's next event as a newer release would."""
    log.publish(*newer_message(await story.load_at_position()))


async def test_rows_of_a_newer_session_stay_and_other_sessions_are_projected(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector, monkeypatch: pytest.MonkeyPatch
) -> None:
    story, other = Conversation(log), Conversation(log)
    await story.commit(c.Say(text="A calculator"))
    await append_newer_event(log, story)
    await projector.project_up_to(story.id, log.last(story.id))
    await other.commit(c.Say(text="Another"))
    await projector.project_up_to(other.id, log.last(other.id))
    s, w = t.sessions.c, t.waiting_for_upgrade.c
    assert dict(await fetch(database, s.id, s.version)) == {story.id: 1, other.id: 1}
    assert await fetch(database, w.session_id, w.position, w.needs) == [(story.id, log.last(story.id), NEEDS["needs"])]
    assert await fetch(database, t.parked_messages.c.position) == []
    for arguments in ({}, {"at_least": log.last(story.id)}, {"version": 2}):
        with pytest.raises(StoreError, match="newer release") as refused:
            await projector.load(story.id, **arguments)
        assert refused.value.code == "upgrade_needed"
        with pytest.raises(StoreError, match="newer release"):
            await projector.load_state(story.id, **arguments)
    assert (await projector.load(story.id, version=1)).session.words.request == "A calculator"
    assert (await health(database)).waiting_for_upgrade == 1

    async with newer_release(monkeypatch):
        upgraded = Projector(log, database)
        await unprojected.project_waiting(database, upgraded.project_up_to)
        assert dict(await fetch(database, s.id, s.version)) == {story.id: 2, other.id: 1}
        assert await fetch(database, w.session_id) == []
        assert (await upgraded.load(story.id)).session.needs == envelope.FORMAT


async def test_a_row_written_by_a_newer_release_is_not_changed(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after a rollback: the older plan_store starts with rows that the newer one has projected."""
    story = Conversation(log)
    await story.commit(c.Say(text="A calculator"))
    await append_newer_event(log, story)
    async with newer_release(monkeypatch):
        await Projector(log, database).project_up_to(story.id, log.last(story.id))
        by = CommandMeta("user:ann", datetime.now(UTC), "rename")
        await commit(log, await InMemoryStore(log).load(story.id), c.Rename(title="Mine"), by)
    before = await fetch(database, *t.sessions.c)
    await projector.project_up_to(story.id, log.last(story.id))
    with pytest.raises(StoreError, match="newer release"):
        await projector.load(story.id)
    assert await fetch(database, *t.sessions.c) == before
    assert await fetch(database, t.waiting_for_upgrade.c.position) == [(log.last(story.id),)]


async def test_a_rebuild_skips_and_counts_sessions_of_a_newer_release(
    log: InMemoryLog, database: ProjectionDatabase
) -> None:
    story, other = Conversation(log), Conversation(log)
    await story.commit(c.Say(text="A calculator"))
    await append_newer_event(log, story)
    await other.commit(c.Say(text="Another"), c.Rename(title="Mine"))
    report = await rebuild_from(log, database, lambda *_: None)
    assert (report.sessions, report.events, report.parked, report.waiting_for_upgrade) == (2, 3, 0, 1)


async def test_the_sweep_skips_sessions_of_a_newer_release(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = Conversation(log)
    await story.commit(c.Say(text="A calculator"))
    await append_newer_event(log, story)
    await projector.project_up_to(story.id, log.last(story.id))
    failed_sessions: list[str] = []
    scheduler = Scheduler(
        Broker(), log, database, projector, stuck_work_timeout=1, now=lambda: datetime.now(UTC) + timedelta(days=7)
    )

    async def fail(session_id: str, *_: Any) -> None:
        failed_sessions.append(session_id)

    monkeypatch.setattr(scheduler, "_fail", fail)
    await scheduler.sweep()
    assert failed_sessions == []
    assert len(log.messages) == 2
    async with newer_release(monkeypatch):
        newer = Scheduler(Broker(), log, database, Projector(log, database), stuck_work_timeout=1)
        await newer.project_waiting()
    assert await fetch(database, t.waiting_for_upgrade.c.session_id) == []
    await scheduler.sweep()
    assert failed_sessions == [story.id], "after the upgrade, the sweep checks it like any other session"


async def test_a_database_migrated_by_a_newer_release_is_used_unchanged(database: ProjectionDatabase) -> None:
    newest = text("SELECT max(version_num) FROM alembic_version")
    async with database.begin() as tx:
        current = await tx.scalar(newest)
        await tx.execute(text("UPDATE alembic_version SET version_num = '2.9999'"))
    await database.migrate()
    async with database.begin() as tx:
        assert await tx.scalar(newest) == "2.9999"
        await tx.execute(text("UPDATE alembic_version SET version_num = :mine"), {"mine": current})


def with_later_fields(stored: Stored) -> dict[str, Any]:
    """The value as a newer release would store it, with an additional field in every object."""

    def extended(value: Any, plain: Any) -> Any:
        if isinstance(value, Stored):
            return with_later_fields(value)
        return [extended(*pair) for pair in zip(value, plain, strict=True)] if isinstance(value, tuple) else plain

    plain = stored.model_dump(mode="json")
    return {name: extended(getattr(stored, name), known) for name, known in plain.items()} | {"later": {"more": True}}


@pytest.mark.parametrize("name", names())
async def test_unknown_fields_of_a_newer_release_are_stored_and_ignored(
    name: str, log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    recorded = load(name)
    client = Client(RequestHandlers(log, database, projector).responders())
    position, bodies = 0, []
    for raw in recorded.messages:
        bodies.append(with_later_fields(parse_event(raw.data)))
        headers = guard_headers(recorded.session_id, position, str(raw.position))
        position = log.publish(raw.subject, json.dumps(bodies[-1]).encode(), headers)
    session = (await projector.load(recorded.session_id)).session
    assert json.loads(json.dumps(export(session))) == recorded.state
    journal = await client.ask(api.JOURNAL_READ, session_id=session.id)
    assert [event.model_dump(mode="json", exclude_unset=True) for event in journal.events] == bodies
    assert (await client.ask(api.PLAN_LIST)).total == bool(session.plan)
    if session.plan:
        plan = await client.ask(api.PLAN_GET, session_id=session.id)
        assert (plan.hash, plan.version) == (session.plan.hash, session.plan.version)
    await client.ask(api.USAGE_TOTALS, session_id=session.id)
    await client.ask(api.CODE_VERSIONS, session_id=session.id)
    await client.ask(api.LIBRARY_LIST, user=session.owner)
    await client.ask(api.PROPOSAL_LIST, user=session.owner)
    await client.ask(api.MEMORY_LIST, user=session.owner)


async def test_after_a_rollback_newer_sessions_are_counted_without_a_visit(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector, monkeypatch: pytest.MonkeyPatch
) -> None:
    story, other = Conversation(log), Conversation(log)
    await story.commit(c.Say(text="A calculator"))
    await other.commit(c.Say(text="Another"))
    await projector.project_up_to(other.id, log.last(other.id))
    await append_newer_event(log, story)
    async with newer_release(monkeypatch):
        newer = Projector(log, database)
        await newer.project_up_to(story.id, log.last(story.id))
        await unprojected.find_waiting(database)
        assert (await health(database)).waiting_for_upgrade == 0
    for _ in range(2):  # once recorded it is not recorded again
        await unprojected.find_waiting(database)
    w = t.waiting_for_upgrade.c
    assert await fetch(database, w.session_id, w.needs) == [(story.id, NEEDS["needs"])]
    async with newer_release(monkeypatch):
        await unprojected.project_waiting(database, newer.project_up_to)
        assert (await health(database)).waiting_for_upgrade == 0


@pytest.mark.parametrize("is_first", [True, False])
async def test_the_operator_purges_a_session_that_a_forged_event_has_frozen(
    is_first: bool, log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    story, other = Conversation(log), Conversation(log)
    if is_first:
        log.publish(f"session.{story.id}.user.plan.drafted", forged(story.id))
    else:
        await story.commit(c.Say(text="A calculator"))
        await append_newer_event(log, story)
    await other.commit(c.Say(text="Another"))
    for name in (story.id, other.id):
        await projector.project_up_to(name, log.last(name))
    ask = PurgeSession(session_id=story.id, user="ann")
    with pytest.raises(StoreError, match="newer release"):
        await purge(log, database, projector, ask)
    await purge(log, database, projector, ask.model_copy(update={"force": True, "user": "operator"}))
    assert {raw.subject.split(".")[1] for raw in log.messages} == {other.id}
    assert await fetch(database, t.sessions.c.id) == [(other.id,)]
    assert (await health(database)).waiting_for_upgrade == 0
    log.publish(f"session.{story.id}.user.plan.drafted", forged(story.id))
    await projector.project_up_to(story.id, log.last(story.id))
    assert (await health(database)).waiting_for_upgrade == 0, "its id is not used again"
    assert await fetch(database, t.parked_messages.c.reason) == [("the session was purged",)]


async def test_force_purges_no_session_that_this_release_reads(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector
) -> None:
    story = Conversation(log)
    await story.commit(c.Say(text="A calculator"))
    for user, code in (("bob", "forbidden"), ("ann", "busy")):
        with pytest.raises(StoreError) as refused:
            await purge(log, database, projector, PurgeSession(session_id=story.id, user=user, force=True))
        assert refused.value.code == code


def forged(session_id: str) -> bytes:
    """What a compromised planner may publish."""
    body = {"id": "x", "type": "plan.drafted", "session_id": session_id, "version": 1, "needs": 99, "actor": "planner"}
    return json.dumps(body | {"at": datetime.now(UTC).isoformat()}).encode()
