"""A PostgreSQL of the world's own: stopped, killed, paused, its connections ended, its tables held by somebody else."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Self

import asyncpg  # type: ignore[import-untyped]

WAIT = 10.0  # seconds


class Postgres:
    """A server of our own. One thread starts and ends it: the kernel ends it together with that thread."""

    def __init__(self) -> None:
        from tests.support.postgres import postgres  # noqa: PLC0415  it needs pytest, which only a checkout has

        self._thread = ThreadPoolExecutor(1)
        self._opened = postgres()
        self._paused: list[int] = []
        self._runs = False
        self.url = ""

    async def _do[T](self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def __aenter__(self) -> Self:
        self._server = await self._do(self._opened.__enter__)
        self.url, self._runs = self._server.url, True
        return self

    async def __aexit__(self, *error: object) -> None:
        self.go_on()
        await self._do(lambda: self._opened.__exit__(None, None, None))
        self._thread.shutdown()

    async def stop(self) -> None:
        """As an administrator would end it who does not wait for its clients."""
        await self._end(signal.SIGINT)

    async def kill(self) -> None:
        """As a crash would end it; it recovers from its log when it is started."""
        await self._end(signal.SIGKILL)

    async def _end(self, how: signal.Signals) -> None:
        await self._do(lambda: self._server.stop(how))
        self._runs = False

    async def start(self) -> None:
        """Nothing where it runs, but that it goes on."""
        self.go_on()
        if not self._runs:
            await self._do(self._server.start)
            self._runs = True

    async def pause(self) -> None:
        """It says and hears nothing until `start` or `go_on`; connections are still taken, and not answered."""
        if not self._runs:
            raise RuntimeError("PostgreSQL does not run")
        self._paused = [self._server.pid]
        self._send(signal.SIGSTOP, self._paused)  # from here on it makes no other
        self._paused += _children(self._server.pid)
        self._send(signal.SIGSTOP, self._paused[1:])

    def go_on(self) -> None:
        self._send(signal.SIGCONT, self._paused[::-1])
        self._paused = []

    def _send(self, which: signal.Signals, pids: list[int]) -> None:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, which)

    async def disconnect(self) -> int:
        """End every connection but our own, as an administrator may; how many there were."""
        async with self._connected() as connection:
            ended = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
            return int(await connection.fetchval(f"{ended} AND backend_type = 'client backend'"))

    @asynccontextmanager
    async def held(self, table: str) -> AsyncIterator[None]:
        """Inside the block another client has the whole table for itself: nobody else so much as reads it."""
        async with self._connected() as connection, connection.transaction():
            await connection.execute(f'LOCK TABLE "{table}" IN ACCESS EXCLUSIVE MODE')
            yield

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[asyncpg.Connection]:
        connection = await asyncpg.connect(self.url, timeout=WAIT, command_timeout=WAIT)
        try:
            yield connection
        finally:
            await connection.close(timeout=WAIT)


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
