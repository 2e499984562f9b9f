"""The worlds' SQL database: transactions with one writer per world, on SQLite and PostgreSQL."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from hashlib import sha256
from pathlib import Path
from typing import Any

from sqlalchemy import event, text
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DatabaseError, DataError, DBAPIError, IntegrityError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool, ConnectionPoolEntry

from parley import ToolUnavailable

type Work[T] = Callable[[AsyncConnection], Awaitable[T]]

DAMAGED = "the file is damaged: restore it from a backup, or move it away and the store begins anew"
BUSY_TIMEOUT_MS = 10_000  # SQLite's wait for another process's write


class WorldsUnavailable(ToolUnavailable):
    """The worlds' database is unreachable or lost its connection; a call with a key may be repeated."""


class WorldDatabase:
    """The connections of one process. SQLite has a single one, because a second would only wait for the first."""

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
        """Look at what there is. Raises WorldsUnavailable."""

        async def whole() -> T:
            async with self._engine.connect() as connection:
                return await work(connection)

        return await self._finish(whole())

    async def write[T](self, world: str, work: Work[T]) -> T:
        """Run a transaction while no other writer changes this world.

        Raises WorldsUnavailable: the transaction may then have been committed or not.
        """

        async def whole() -> T:
            async with self._engine.begin() as connection:
                if self._is_sqlite:
                    await connection.exec_driver_sql("BEGIN IMMEDIATE")  # the driver would begin too late
                else:
                    await connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _lock(world)})
                return await work(connection)

        return await self._finish(whole())

    async def _finish[T](self, whole: Coroutine[Any, Any, T]) -> T:
        """Run the work to its end, even if the caller is cancelled.

        A connection lost in the middle would lose an in-memory database.
        """
        task = asyncio.create_task(whole)
        self._running.add(task)
        task.add_done_callback(self._ended)
        try:
            return await asyncio.shield(task)
        except (IntegrityError, DataError, ProgrammingError):
            raise  # a bug: retrying does not help
        except (DBAPIError, PoolTimeout, OSError) as error:
            text = f"{self._shown}: {getattr(error, 'orig', None) or error}"
            # SQLite's driver has no class of its own for a damaged file: it raises the base of its errors.
            raise WorldsUnavailable(f"{text}: {DAMAGED}" if type(error) is DatabaseError else text) from error

    def _ended(self, task: asyncio.Task[Any]) -> None:
        self._running.discard(task)
        if not task.cancelled():
            task.exception()  # retrieved, so that a cancelled caller leaves no warning

    async def close(self) -> None:
        await asyncio.gather(*self._running, return_exceptions=True)
        await self._engine.dispose()


def _lock(world: str) -> int:
    """The key of the world's PostgreSQL advisory lock."""
    return int.from_bytes(sha256(f"retail {world}".encode()).digest()[:8], signed=True)


def _prepare_sqlite(connection: Any, _: ConnectionPoolEntry) -> None:
    cursor = connection.cursor()
    try:
        for pragma in (f"busy_timeout={BUSY_TIMEOUT_MS}", "journal_mode=WAL", "foreign_keys=ON"):
            cursor.execute(f"PRAGMA {pragma}")
    except Exception:
        connection.close()  # the pool does not have it yet
        raise
    cursor.close()
