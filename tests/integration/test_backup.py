"""A backup of everything, and back onto another server: every message where it was, timers armed, artefacts whole."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from sqlite3 import connect
from typing import cast

import pytest

from cli.backup import backup, restore
from cli.command import Declined
from cli.nats_server import NatsServer, nats_server
from services.plan_store.ahead import DatabaseAhead
from services.plan_store.app import PlanStore
from services.plan_store.rebuild import rebuild
from shared.bus import Bus, snapshot
from shared.bus.provision import check, provision
from shared.bus.topology import SESSIONS, TIMERS
from shared.domain import commands as c
from shared.domain.session import Session
from shared.log import EXPECTED, EXPECTED_SUBJECT, MESSAGE_ID, SessionAtPosition, commit
from shared.settings import Settings
from shared.store import Store
from shared.testing import InMemoryLog, InMemoryStore
from tests.conftest import person
from tests.support.stories import STEPS, Conversation

BEFORE = 300  # messages that are there when the backup begins


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[NatsServer]:
    with nats_server(tmp_path / "elsewhere") as server:
        yield server


@pytest.fixture
def there(elsewhere: NatsServer, tmp_path: Path) -> Settings:
    """Another, empty Parley."""
    return Settings(nats_url=elsewhere.url, parley_home=tmp_path / "elsewhere", graceful_timeout=1)


@asynccontextmanager
async def connected(settings: Settings) -> AsyncIterator[Bus]:
    bus = Bus(settings, "test")
    await bus.connect()
    try:
        yield bus
    finally:
        await bus.stop()


async def stored(bus: Bus, session_id: str) -> list[tuple[object, ...]]:
    """Its messages, without what the server says of itself in the headers of an answer."""
    found = await bus.log.read(session_id, limit=100_000)
    own = (EXPECTED, EXPECTED_SUBJECT, MESSAGE_ID)
    return [(raw.position, raw.subject, raw.data, raw.at, *(raw.headers.get(name) for name in own)) for raw in found]


async def test_a_backup_comes_back_as_it_was(settings: Settings, bus: Bus, there: Settings, tmp_path: Path) -> None:
    service = PlanStore(settings)
    await service.start()
    before, log = {}, cast("InMemoryLog", bus.log)  # a story is told to any log
    for name in ("one", "two"):
        before[name] = await Conversation(log, name).whole()
    await bus.log.purge("one")  # positions have gaps now
    await bus.keep("two/1/1.1", b"a long result" * 50_000)
    loaded = await Store(bus).load("two")
    await service.stop()
    await bus.arm("two", "probe", datetime.now(UTC) + timedelta(seconds=4), b"wake up")

    assert await backup(settings, tmp_path / "copy") == 0
    assert await restore(there, tmp_path / "copy") == 0

    assert await check(there) == []
    async with connected(there) as other:
        timers = await other.client.jetstream().subscribe("timerfired.>", stream=TIMERS, ordered_consumer=True)
        assert (await timers.next_msg(timeout=15)).subject == "timerfired.two.probe"
        assert await stored(other, "two") == await stored(bus, "two") != []
        assert await stored(other, "one") == []
        assert await other.fetch("two/1/1.1") == b"a long result" * 50_000
        report = await rebuild(there, lambda _, __: None)
        assert (report.sessions, report.parked) == (1, 0)
        service = PlanStore(there)
        await service.start()
        try:
            again = await Store(other).load("two")
            assert again == loaded
            after, _ = await commit(other.log, again, c.Rename(title="Goes on"), person())
            assert after.session.version == before["two"].version + 1
            assert (await Store(other).load("two", at_least=after.position)).session.title == "Goes on"
        finally:
            await service.stop()


async def test_what_is_stored_meanwhile_does_not_tear_it(
    settings: Settings, bus: Bus, there: Settings, tmp_path: Path
) -> None:
    done, enough = asyncio.Event(), asyncio.Event()

    async def write() -> None:
        loaded, _ = await commit(bus.log, SessionAtPosition(Session("s"), 0), c.Say(text="begin"), person())
        while not done.is_set():
            loaded, _ = await commit(bus.log, loaded, c.Rename(title=f"{loaded.position}"), person())
            if loaded.position >= BEFORE:
                enough.set()

    writing = asyncio.create_task(write())
    await enough.wait()
    await backup(settings, tmp_path / "copy")
    done.set()
    await writing
    await restore(there, tmp_path / "copy")
    async with connected(there) as other:
        copied, all_of_it = await stored(other, "s"), await stored(bus, "s")
        assert BEFORE <= len(copied) < len(all_of_it)
        assert copied == all_of_it[: len(copied)]
        assert (await InMemoryStore(other.log).load("s")).session.version == len(copied)


async def test_databases_that_are_files_are_in_it(settings: Settings, there: Settings, tmp_path: Path) -> None:
    with closing(connect(settings.parley_home / "retail.db")) as store:
        store.execute("CREATE TABLE told (word TEXT)")
        store.execute("INSERT INTO told VALUES ('kept')")
        store.commit()
        await backup(settings, tmp_path / "copy")
    await restore(there, tmp_path / "copy")
    with closing(connect(there.parley_home / "retail.db")) as found:
        assert found.execute("SELECT word FROM told").fetchall() == [("kept",)]


async def test_nothing_is_overwritten(settings: Settings, bus: Bus, there: Settings, tmp_path: Path) -> None:
    await commit(bus.log, SessionAtPosition(Session("s"), 0), c.Say(text="begin"), person())
    await backup(settings, tmp_path / "copy")
    with pytest.raises(Declined, match="not empty"):
        await backup(settings, tmp_path / "copy")
    with pytest.raises(Declined, match="SESSIONS already"):
        await restore(settings, tmp_path / "copy")
    await provision(there)  # streams without messages are not in the way
    await restore(there, tmp_path / "copy")
    assert await check(there) == []


async def test_a_backup_that_broke_off_is_none(there: Settings, tmp_path: Path) -> None:
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "SESSIONS.snapshot").write_bytes(b"half")
    with pytest.raises(Declined, match="no backup"):
        await restore(there, tmp_path / "copy")
    (tmp_path / "copy" / "contents.json").write_text('{"format": 7}')
    with pytest.raises(Declined, match="another version"):
        await restore(there, tmp_path / "copy")


async def test_a_database_that_survived_is_not_believed(
    settings: Settings, bus: Bus, there: Settings, tmp_path: Path
) -> None:
    """NATS came back as it was last night: for its messages the newer rows would say that all is done."""
    service = PlanStore(settings)
    await service.start()
    story = Conversation(bus.log, "s")
    await story.commit(c.Say(text="Write a calculator"))
    await Store(bus).load("s")
    await backup(settings, tmp_path / "copy")
    await story.commit(c.DraftPlan(goal="A calculator", steps=STEPS))
    await Store(bus).load("s", at_least=2)
    await service.stop()
    await restore(there, tmp_path / "copy")
    survived = there.model_copy(update={"database_url": settings.sql_url.replace("+aiosqlite", "")})

    ahead = PlanStore(survived)
    with pytest.raises(DatabaseAhead, match=r"up to position 2, the log only up to 1: .* run `parley rebuild`"):
        await ahead.start()
    await ahead.stop()
    report = await rebuild(survived, lambda *_: None)
    assert (report.sessions, report.events) == (1, 1)
    service = PlanStore(survived)
    await service.start()
    async with connected(there) as other:
        assert (await Store(other).load("s")).session.work == c.Work(service="planner", version=1)
    await service.stop()


async def test_what_the_log_says_was_done_is_in_the_copy_of_the_world(
    settings: Settings, bus: Bus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = settings.parley_home / "retail.db"
    with closing(connect(world)) as db:
        db.execute("create table effects (key text)")
        db.commit()
    saved = snapshot.save

    async def acts_first(bus: Bus, stream: str, path: Path) -> snapshot.State | None:
        """An executor writes, and records it, just before the log is copied."""
        if stream == SESSIONS:
            with closing(connect(world)) as db:
                db.execute("insert into effects values ('s/1/1.1')")
                db.commit()
            await Conversation(bus.log, "s").commit(c.Say(text="It is done"))
        return await saved(bus, stream, path)

    monkeypatch.setattr("cli.backup.save", acts_first)
    await backup(settings, tmp_path / "copy")
    with closing(connect(tmp_path / "copy" / "retail.db")) as db:
        assert db.execute("select key from effects").fetchall() == [("s/1/1.1",)]
