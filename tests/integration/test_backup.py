"""A backup restored to another server: every message at its position, timers armed, artefacts complete."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from sqlite3 import connect
from typing import cast

import pytest

from cli.command import Declined
from cli.operate.backup import create_backup, restore_backup
from services.plan_store.app import PlanStore
from services.plan_store.operations.health import DatabaseAheadOfLog
from services.plan_store.operations.rebuild import rebuild
from shared.bus import Bus, snapshot
from shared.bus.provision import check, provision
from shared.bus.topology import SESSIONS, TIMERS
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.log import EXPECTED_SEQUENCE, EXPECTED_SEQUENCE_SUBJECT, MESSAGE_ID, SessionAtPosition, commit
from shared.settings import Settings
from shared.store import PlanStoreClient
from shared.testing import InMemoryLog, InMemoryStore
from tests.conftest import person
from tests.support.nats import NatsServer, nats_server
from tests.support.stories import STEPS, Conversation
from tests.support.timeouts import WAIT_TIMEOUT

BEFORE = 300  # messages in the log when the backup begins


@pytest.fixture
def other_server(tmp_path: Path) -> Iterator[NatsServer]:
    with nats_server(tmp_path / "elsewhere") as server:
        yield server


@pytest.fixture
def target(other_server: NatsServer, tmp_path: Path) -> Settings:
    """The settings of another Parley without data."""
    return Settings(nats_url=other_server.url, parley_home=tmp_path / "elsewhere", graceful_timeout=1)


@asynccontextmanager
async def connected(settings: Settings) -> AsyncIterator[Bus]:
    bus = Bus(settings, "test")
    await bus.connect()
    try:
        yield bus
    finally:
        await bus.stop()


async def stored(bus: Bus, session_id: str) -> list[tuple[object, ...]]:
    """The session's messages, without headers that the server adds to answers."""
    messages = await bus.log.read(session_id, limit=100_000)
    names = (EXPECTED_SEQUENCE, EXPECTED_SEQUENCE_SUBJECT, MESSAGE_ID)
    return [
        (raw.position, raw.subject, raw.data, raw.at, *(raw.headers.get(name) for name in names)) for raw in messages
    ]


async def test_a_backup_is_restored_unchanged(settings: Settings, bus: Bus, target: Settings, tmp_path: Path) -> None:
    service = PlanStore(settings)
    await service.start()
    before, log = {}, cast("InMemoryLog", bus.log)  # `Conversation` works with any log
    for name in ("one", "two"):
        before[name] = await Conversation(log, name).whole()
    await PlanStoreClient(bus).ask("session.purge", session_id="one", user="ann")  # leaves gaps between the positions
    await bus.keep("two/1/1.1", b"a long result" * 50_000)
    loaded = await PlanStoreClient(bus).load("two")
    await service.stop()
    await bus.arm("two", "probe", datetime.now(UTC) + timedelta(seconds=4), b"wake up")

    assert await create_backup(settings, tmp_path / "copy") == 0
    assert await restore_backup(target, tmp_path / "copy") == 0

    assert await check(target) == []
    async with connected(target) as target_bus:
        timers = await target_bus.client.jetstream().subscribe("timerfired.>", stream=TIMERS, ordered_consumer=True)
        assert (await timers.next_msg(timeout=WAIT_TIMEOUT)).subject == "timerfired.two.probe"
        assert await stored(target_bus, "two") == await stored(bus, "two") != []
        assert await stored(target_bus, "one") == []
        assert await target_bus.fetch("two/1/1.1") == b"a long result" * 50_000
        report = await rebuild(target, lambda _, __: None)
        assert (report.sessions, report.parked) == (1, 0)
        service = PlanStore(target)
        await service.start()
        try:
            restored = await PlanStoreClient(target_bus).load("two")
            assert restored == loaded
            after, _ = await commit(target_bus.log, restored, c.Rename(title="Goes on"), person())
            assert after.session.version == before["two"].version + 1
            assert (await PlanStoreClient(target_bus).load("two", at_least=after.position)).session.title == "Goes on"
        finally:
            await service.stop()


async def test_a_backup_is_consistent_while_events_are_stored(
    settings: Settings, bus: Bus, target: Settings, tmp_path: Path
) -> None:
    done, ready = asyncio.Event(), asyncio.Event()

    async def write() -> None:
        loaded, _ = await commit(bus.log, SessionAtPosition(Session("s"), 0), c.Say(text="begin"), person())
        while not done.is_set():
            loaded, _ = await commit(bus.log, loaded, c.Rename(title=f"{loaded.position}"), person())
            if loaded.position >= BEFORE:
                ready.set()

    writing = asyncio.create_task(write())
    await ready.wait()
    await create_backup(settings, tmp_path / "copy")
    done.set()
    await writing
    await restore_backup(target, tmp_path / "copy")
    async with connected(target) as target_bus:
        copied, original = await stored(target_bus, "s"), await stored(bus, "s")
        assert BEFORE <= len(copied) < len(original)
        assert copied == original[: len(copied)]
        assert (await InMemoryStore(target_bus.log).load("s")).session.version == len(copied)


async def test_existing_files_and_streams_are_not_overwritten(
    settings: Settings, bus: Bus, target: Settings, tmp_path: Path
) -> None:
    for file in settings.parley_home.glob("*.db"):
        file.unlink()  # they would be refused first
    await commit(bus.log, SessionAtPosition(Session("s"), 0), c.Say(text="begin"), person())
    await create_backup(settings, tmp_path / "copy")
    with pytest.raises(Declined, match="not empty"):
        await create_backup(settings, tmp_path / "copy")
    with pytest.raises(Declined, match="SESSIONS already"):
        await restore_backup(settings, tmp_path / "copy")
    await provision(target)  # empty streams may exist
    await restore_backup(target, tmp_path / "copy")
    assert await check(target) == []


async def test_an_interrupted_backup_is_refused(target: Settings, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "SESSIONS.snapshot").write_bytes(b"half")
    with pytest.raises(Declined, match="no backup"):
        await restore_backup(target, tmp_path / "copy")
    (tmp_path / "copy" / "contents.json").write_text('{"format": 7}')
    with pytest.raises(Declined, match="another version"):
        await restore_backup(target, tmp_path / "copy")


async def test_a_database_ahead_of_the_restored_log_is_refused(
    settings: Settings, bus: Bus, target: Settings, tmp_path: Path
) -> None:
    """Otherwise plan_store would take the restored log's next messages for ones that it has projected."""
    service = PlanStore(settings)
    await service.start()
    story = Conversation(bus.log, "s")
    await story.commit(c.Say(text="Write a calculator"))
    await PlanStoreClient(bus).load("s")
    await create_backup(settings, tmp_path / "copy")
    await story.commit(c.DraftPlan(goal="A calculator", steps=STEPS))
    await PlanStoreClient(bus).load("s", at_least=2)
    await service.stop()
    await restore_backup(target, tmp_path / "copy")
    newer_database = target.model_copy(update={"database_url": settings.sql_url.replace("+aiosqlite", "")})

    ahead = PlanStore(newer_database)
    with pytest.raises(DatabaseAheadOfLog, match=r"up to position 2, the log only up to 1: .* run `parley rebuild`"):
        await ahead.start()
    await ahead.stop()
    report = await rebuild(newer_database, lambda *_: None)
    assert (report.sessions, report.events) == (1, 1)
    service = PlanStore(newer_database)
    await service.start()
    async with connected(target) as target_bus:
        assert (await PlanStoreClient(target_bus).load("s")).session.work == c.Work(service="planner", version=1)
    await service.stop()


async def test_the_copied_retail_store_has_every_write_of_the_copied_log(
    settings: Settings, bus: Bus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    retail_path = settings.parley_home / "retail.db"
    with closing(connect(retail_path)) as db:
        db.execute("create table effects (key text)")
        db.commit()
    saved = snapshot.save

    async def write_then_save(bus: Bus, stream: str, path: Path) -> snapshot.State | None:
        """Write to the retail store and record it, just before the log is copied."""
        if stream == SESSIONS:
            with closing(connect(retail_path)) as db:
                db.execute("insert into effects values ('s/1/1.1')")
                db.commit()
            await Conversation(bus.log, "s").commit(c.Say(text="It is done"))
        return await saved(bus, stream, path)

    monkeypatch.setattr("cli.operate.backup.save", write_then_save)
    await create_backup(settings, tmp_path / "copy")
    with closing(connect(tmp_path / "copy" / "retail.db")) as db:
        assert db.execute("select key from effects").fetchall() == [("s/1/1.1",)]
