"""The worlds' connection to SQL: transactions in which a world's writer is alone, on SQLite and on PostgreSQL."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from hashlib import sha256
from pathlib import Path
from typing import Any

from sqlalchemy import event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool, ConnectionPoolEntry

from parley import Unavailable

type Work[T] = Callable[[AsyncConnection], Awaitable[T]]

BUSY_MS = 10_000  # how long SQLite waits for another process's write


class WorldsDown(Unavailable):
    """The database of the worlds cannot be reached, or broke off; a call with a key may simply be made again."""


class Database:
    """One process's connections; to SQLite a single one, because a second would only wait for the first."""

    def __init__(self, url: str) -> None:
        place = make_url(url)
        self._is_sqlite = place.get_backend_name() == "sqlite"
        self._shown = place.render_as_string(hide_password=True)
        if self._is_sqlite and place.database and place.database != ":memory:":
            Path(place.database).parent.mkdir(parents=True, exist_ok=True)
        more: dict[str, Any] = {"pool_size": 1, "max_overflow": 0}
        if not self._is_sqlite:
            more = {"pool_size": 5, "pool_pre_ping": True, "connect_args": {"timeout": 5, "command_timeout": 60}}
        self._running: set[asyncio.Task[Any]] = set()
        self._engine = create_async_engine(place, poolclass=AsyncAdaptedQueuePool, **more)
        if self._is_sqlite:
            event.listen(self._engine.sync_engine, "connect", _prepare_sqlite)

    async def read[T](self, work: Work[T]) -> T:
        """Look at what there is. Raises WorldsDown."""

        async def whole() -> T:
            async with self._engine.connect() as connection:
                return await work(connection)

        return await self._finish(whole())

    async def write[T](self, world: str, work: Work[T]) -> T:
        """A transaction in which nobody else writes to this world. Raises WorldsDown: it may then be done or not."""

        async def whole() -> T:
            async with self._engine.begin() as connection:
                if self._is_sqlite:
                    await connection.exec_driver_sql("BEGIN IMMEDIATE")  # the driver's own would come too late
                else:
                    await connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _lock(world)})
                return await work(connection)

        return await self._finish(whole())

    async def _finish[T](self, whole: Coroutine[Any, Any, T]) -> T:
        """To its end, also when the caller gives up: a connection broken off would take a database in memory along."""
        task = asyncio.create_task(whole)
        self._running.add(task)
        task.add_done_callback(self._ended)
        try:
            return await asyncio.shield(task)
        except (IntegrityError, DataError, ProgrammingError):
            raise  # a fault of ours: trying again does not help
        except (DBAPIError, PoolTimeout, OSError) as error:
            raise WorldsDown(f"{self._shown}: {error}") from error

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # whoever waited for it may have given up: then nobody wants to know

    async def close(self) -> None:
        await asyncio.gather(*self._running, return_exceptions=True)
        await self._engine.dispose()


def _lock(world: str) -> int:
    """The world's number among PostgreSQL's advisory locks."""
    return int.from_bytes(sha256(f"retail {world}".encode()).digest()[:8], signed=True)


def _prepare_sqlite(connection: Any, _: ConnectionPoolEntry) -> None:
    cursor = connection.cursor()
    for pragma in (f"busy_timeout={BUSY_MS}", "journal_mode=WAL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()
