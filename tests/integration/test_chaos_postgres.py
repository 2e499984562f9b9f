"""What chaos does to its PostgreSQL is done to it, and it comes back with all that was committed."""

import asyncio
from collections.abc import AsyncIterator

import asyncpg  # type: ignore[import-untyped]
import pytest

from chaos.postgres import Postgres

SOON = 0.3  # seconds in which nothing comes of it


@pytest.fixture
async def database() -> AsyncIterator[Postgres]:
    async with Postgres() as server:
        await asked(server, "CREATE TABLE things (name text)")
        await asked(server, "INSERT INTO things VALUES ('kept')")
        yield server


async def asked(server: Postgres, statement: str, *, seconds: float = 10) -> list[asyncpg.Record]:
    connection = await asyncpg.connect(server.url, timeout=seconds)
    try:
        found: list[asyncpg.Record] = await connection.fetch(statement, timeout=seconds)
        return found
    finally:
        connection.terminate()


async def names(server: Postgres) -> list[str]:
    return [row["name"] for row in await asked(server, "SELECT name FROM things")]


@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_it_is_away_until_it_is_started(database: Postgres, how: str) -> None:
    await getattr(database, how)()
    with pytest.raises(RuntimeError, match="does not run"):
        await database.pause()
    with pytest.raises(OSError, match="Connect call failed"):
        await names(database)
    await database.start()
    assert await names(database) == ["kept"]


async def test_paused_it_answers_nobody_and_loses_nobody(database: Postgres) -> None:
    before = await asyncpg.connect(database.url)
    await database.pause()
    late = asyncio.create_task(before.fetchval("SELECT name FROM things"))
    with pytest.raises(TimeoutError):
        await asked(database, "SELECT 1", seconds=SOON)
    assert not late.done()
    await database.start()
    assert await late == "kept"
    await before.close()


async def test_every_connection_is_ended_but_its_own(database: Postgres) -> None:
    others = [await asyncpg.connect(database.url) for _ in range(2)]
    ended: asyncio.Queue[object] = asyncio.Queue()
    for other in others:
        other.add_termination_listener(ended.put_nowait)
    assert await database.disconnect() == 2
    assert {await ended.get(), await ended.get()} == set(others)
    assert await names(database) == ["kept"]


async def test_a_held_table_is_not_even_read(database: Postgres) -> None:
    async with database.held("things"):
        with pytest.raises(TimeoutError):
            await asked(database, "SELECT name FROM things", seconds=SOON)
    assert await names(database) == ["kept"]
