"""plan_store's database is damaged, empty or gone: it is said what to do, and the log brings the rows back."""

import asyncio
import gc
import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from cli.operate.doctor import check_database, check_nats, check_store
from services.gateway.ports import Core
from services.gateway.readiness import ReadinessChecker
from services.plan_store.app import PlanStore
from services.plan_store.operations.health import FillingCancelled
from services.plan_store.operations.rebuild import rebuild
from shared.bus import Bus
from shared.domain.kernel import commands as c
from shared.settings import Settings
from shared.store import PlanStoreClient
from shared.unavailable import DAMAGED
from tests.support.inbox import until_idle
from tests.support.stack import running_plan_store
from tests.support.stories import Conversation
from tests.support.timeouts import WAIT_TIMEOUT


def overwrite_head(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.write(os.urandom(200))


def overwrite_pages(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.seek(4096)
        opened.write(os.urandom(file.stat().st_size - 4096))


def cut(file: Path) -> None:
    os.truncate(file, 5000)


def remove(file: Path) -> None:
    file.unlink()


def empty(file: Path) -> None:
    os.truncate(file, 0)


DAMAGES: tuple[Callable[[Path], None], ...] = (overwrite_head, overwrite_pages, cut)


def read(file: Path) -> bytes:
    return file.read_bytes()


def replace(file: Path, content: bytes) -> None:
    """Put another file in its place, as who restores a copy does."""
    file.rename(file.with_name("aside"))
    file.write_bytes(content)
    for part in ("-wal", "-shm"):
        Path(f"{file}{part}").unlink(missing_ok=True)


def is_open(file: Path) -> bool:
    return any(link.is_symlink() and link.readlink() == file for link in Path("/proc/self/fd").iterdir())


async def until_closed(file: Path) -> None:
    """Wait until this process has closed the file, as the end of plan_store's own process would at once.

    SQLite closes the connection of a cancelled query when Python frees the query's cursor.
    """
    while is_open(file):
        gc.collect()
        await asyncio.sleep(0.01)


@pytest.fixture
async def file(settings: Settings, bus: Bus) -> Path:
    """The database of a Parley that has stopped, with the sessions `a`, `b` and `c`."""
    for name in "abc":
        await Conversation(bus.log, name).plan()
    async with running_plan_store(settings):
        await until_idle(bus, "plan_store")
    path = settings.parley_home / "parley.db"
    await until_closed(path)
    with closing(sqlite3.connect(path)) as database:
        database.execute("pragma wal_checkpoint(truncate)")
    return path


async def listed(bus: Bus) -> set[str]:
    return {row["id"] for row in (await PlanStoreClient(bus).ask("session.list"))["sessions"]}


@pytest.mark.parametrize("damage", DAMAGES)
async def test_a_rebuild_keeps_a_damaged_file_and_plan_store_continues_with_the_new_one(
    file: Path, damage: Callable[[Path], None], settings: Settings, bus: Bus
) -> None:
    damage(file)
    content = read(file)
    service = PlanStore(settings)
    starting = asyncio.create_task(service.start())
    ready = ReadinessChecker(Core(bus, PlanStoreClient(bus, wait=1), bus.log))
    async with asyncio.timeout(WAIT_TIMEOUT):
        while (checks := await ready.checks())["plan_store"] != DAMAGED:  # noqa: ASYNC110  a health check is polled
            await asyncio.sleep(0.05)
        assert checks["upgrade"] == DAMAGED
        (storage, store, _) = await check_store(settings, check_nats(settings, is_up=True))
        assert (storage.outcome, store.outcome, store.advice) == ("ok", "fail", DAMAGED)
        doctor = await check_database(settings)
        assert (doctor.outcome, doctor.advice) == ("fail", DAMAGED)
        report = await rebuild(settings, lambda *_: None)
        assert (report.sessions, report.events) == (3, 6)
        [kept] = [path for path in file.parent.glob("parley.db.damaged-*") if not path.name.endswith(("-wal", "-shm"))]
        assert read(kept) == content
        await starting
        while (await ready.checks())["plan_store"] != "ok":  # noqa: ASYNC110  a health check is polled
            await asyncio.sleep(0.05)
        assert await listed(bus) == {"a", "b", "c"}
        assert (await check_database(settings)).outcome == "ok"
    await service.stop()


@pytest.mark.parametrize("lose", [remove, empty])
async def test_an_empty_database_is_filled_from_the_log(
    file: Path, lose: Callable[[Path], None], settings: Settings, bus: Bus
) -> None:
    lose(file)
    async with running_plan_store(settings), asyncio.timeout(WAIT_TIMEOUT):
        while await listed(bus) != {"a", "b", "c"}:  # noqa: ASYNC110  a rebuild causes no event
            await asyncio.sleep(0.05)
        await Conversation(bus.log, "d").plan()
        await until_idle(bus, "plan_store")
        assert await listed(bus) == {"a", "b", "c", "d"}


async def test_a_stop_ends_the_filling_of_an_empty_database(
    file: Path, settings: Settings, bus: Bus, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs in a thread, which would keep the process alive."""
    remove(file)
    begun, cancelled, over = threading.Event(), threading.Event(), threading.Event()

    async def slow(_: Settings, on_progress: Callable[[int, int], None]) -> None:
        try:
            while not over.is_set():
                on_progress(1, 2)
                begun.set()
                await asyncio.sleep(0.01)
        except FillingCancelled:
            cancelled.set()
            raise

    monkeypatch.setattr("services.plan_store.operations.health.rebuild", slow)
    async with running_plan_store(settings):
        assert await asyncio.to_thread(begun.wait, WAIT_TIMEOUT)
    try:
        assert await asyncio.to_thread(cancelled.wait, WAIT_TIMEOUT)
    finally:
        over.set()


async def test_a_background_task_that_fails_is_logged(
    settings: Settings, bus: Bus, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(*_: object) -> None:
        raise ValueError("no such column")

    monkeypatch.setattr("services.plan_store.app.run_counts", broken)
    async with running_plan_store(settings):
        await until_idle(bus, "plan_store")
    assert "background_task_failed" in caplog.text
    assert "no such column" in caplog.text


async def test_a_first_start_rebuilds_nothing(settings: Settings, bus: Bus, caplog: pytest.LogCaptureFixture) -> None:
    await Conversation(bus.log, "a").commit(c.Say(text="Write a calculator"))
    async with running_plan_store(settings):
        await until_idle(bus, "plan_store")
        assert await listed(bus) == {"a"}
    assert "database_empty" not in caplog.text


async def test_a_database_that_is_replaced_while_plan_store_runs_is_opened_again(
    file: Path, settings: Settings, bus: Bus
) -> None:
    older = read(file)
    async with running_plan_store(settings):
        await Conversation(bus.log, "d").plan()
        await until_idle(bus, "plan_store")
        replace(file, older)
        assert await listed(bus) == {"a", "b", "c"}
        await Conversation(bus.log, "e").plan()
        await until_idle(bus, "plan_store")
        assert await listed(bus) == {"a", "b", "c", "e"}
