"""A PostgreSQL server that can be stopped, killed, paused, disconnected, and whose tables can be locked."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Self

import asyncpg  # type: ignore[import-untyped]

CONNECT_TIMEOUT = 10.0  # seconds


class PostgresProcess:
    """A server of our own. One thread starts and stops it, because the kernel kills it when that thread ends."""

    def __init__(self) -> None:
        from tests.support.postgres import postgres  # noqa: PLC0415  it needs pytest, which only a checkout has

        self._thread = ThreadPoolExecutor(1)
        self._opened = postgres()
        self._paused: list[int] = []
        self.url = ""

    async def _in_thread[T](self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def __aenter__(self) -> Self:
        self._server = await self._in_thread(self._opened.__enter__)
        self.url = self._server.url
        return self

    async def __aexit__(self, *error: object) -> None:
        self.resume()
        await self._in_thread(lambda: self._opened.__exit__(None, None, None))
        self._thread.shutdown()

    async def stop(self) -> None:
        """End it as an administrator would, without waiting for its clients."""
        await self._end(signal.SIGINT)

    async def kill(self) -> None:
        """End it as a crash would. It recovers from its log at the next start."""
        await self._end(signal.SIGKILL)

    async def _end(self, how: signal.Signals) -> None:
        await self._in_thread(lambda: self._server.stop(how))

    async def start(self) -> None:
        """Start it if it does not run, and resume it if it is paused."""
        self.resume()
        if not self._server.pid:
            await self._in_thread(self._server.start)

    async def pause(self) -> None:
        """Freeze it until `start` or `resume`. The kernel still accepts connections, which get no answer."""
        if not self._server.pid:
            raise RuntimeError("PostgreSQL is not running")
        self._paused = [self._server.pid]
        self._send(signal.SIGSTOP, self._paused)  # it spawns no more children now
        self._paused += _children(self._server.pid)
        self._send(signal.SIGSTOP, self._paused[1:])

    def resume(self) -> None:
        self._send(signal.SIGCONT, self._paused[::-1])
        self._paused = []

    def _send(self, which: signal.Signals, pids: list[int]) -> None:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, which)

    async def disconnect(self) -> int:
        """Terminate every connection but our own. Returns their number."""
        async with self._connected() as connection:
            ended = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
            return int(await connection.fetchval(f"{ended} AND backend_type = 'client backend'"))

    @asynccontextmanager
    async def lock_table(self, table: str) -> AsyncIterator[None]:
        """Inside the block another client holds an exclusive lock on the table, which also blocks reads."""
        async with self._connected() as connection, connection.transaction():
            await connection.execute(f'LOCK TABLE "{table}" IN ACCESS EXCLUSIVE MODE')
            yield

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[asyncpg.Connection]:
        connection = await asyncpg.connect(self.url, timeout=CONNECT_TIMEOUT, command_timeout=CONNECT_TIMEOUT)
        try:
            yield connection
        finally:
            await connection.close(timeout=CONNECT_TIMEOUT)


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
