"""The chaos suite's PostgreSQL can be interrupted in each way, and comes back with all committed data."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg  # type: ignore[import-untyped]
import pytest

from chaos.postgres import PostgresProcess
from tests.support.timeouts import WAIT_TIMEOUT

BLOCKED_TIMEOUT = 0.3  # seconds in which a blocked statement gets no result


@pytest.fixture
async def database() -> AsyncIterator[PostgresProcess]:
    async with PostgresProcess() as server:
        await query(server, "CREATE TABLE items (name text)")
        await query(server, "INSERT INTO items VALUES ('kept')")
        yield server


async def query(server: PostgresProcess, statement: str, *, seconds: float = WAIT_TIMEOUT) -> list[asyncpg.Record]:
    connection = await asyncpg.connect(server.url, timeout=seconds)
    try:
        rows: list[asyncpg.Record] = await connection.fetch(statement, timeout=seconds)
        return rows
    finally:
        connection.terminate()


async def names(server: PostgresProcess) -> list[str]:
    return [row["name"] for row in await query(server, "SELECT name FROM items")]


@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_a_server_that_was_stopped_or_killed_refuses_connections_until_it_is_started(
    database: PostgresProcess, how: str
) -> None:
    await getattr(database, how)()
    with pytest.raises(RuntimeError, match="is not running"):
        await database.pause()
    with pytest.raises(OSError, match="Connect call failed"):
        await names(database)
    await database.start()
    assert await names(database) == ["kept"]


async def test_a_paused_server_keeps_its_connections_and_answers_after_it_resumes(database: PostgresProcess) -> None:
    before = await asyncpg.connect(database.url)
    await database.pause()
    late = asyncio.create_task(before.fetchval("SELECT name FROM items"))
    with pytest.raises(TimeoutError):
        await query(database, "SELECT 1", seconds=BLOCKED_TIMEOUT)
    assert not late.done()
    await database.start()
    assert await late == "kept"
    await before.close()


async def test_disconnect_ends_every_other_connection(database: PostgresProcess) -> None:
    others = [await asyncpg.connect(database.url) for _ in range(2)]
    ended: asyncio.Queue[object] = asyncio.Queue()
    for other in others:
        other.add_termination_listener(ended.put_nowait)
    assert await database.disconnect() == 2
    assert {await ended.get(), await ended.get()} == set(others)
    assert await names(database) == ["kept"]


async def test_a_locked_table_cannot_be_read(database: PostgresProcess) -> None:
    async with database.lock_table("items"):
        with pytest.raises(TimeoutError):
            await query(database, "SELECT name FROM items", seconds=BLOCKED_TIMEOUT)
    assert await names(database) == ["kept"]
