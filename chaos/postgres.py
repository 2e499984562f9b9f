"""A PostgreSQL of the world's own, which can be stopped and started again."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Self


class Postgres:
    """A server of our own. One thread does everything to it: the kernel ends it together with that thread."""

    def __init__(self) -> None:
        from tests.support.postgres import postgres  # noqa: PLC0415  it needs pytest, which only a checkout has

        self._thread = ThreadPoolExecutor(1)
        self._opened = postgres()
        self.url = ""

    async def _do[T](self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work)

    async def __aenter__(self) -> Self:
        server = await self._do(self._opened.__enter__)
        if server is None:
            raise RuntimeError("PostgreSQL is not installed: leave --postgres out")
        self._server, self.url, self._runs = server, server.url, True
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._do(lambda: self._opened.__exit__(None, None, None))
        self._thread.shutdown()

    async def stop(self) -> None:
        await self._do(self._server.stop)
        self._runs = False

    async def start(self) -> None:
        """Nothing where it runs."""
        if not self._runs:
            await self._do(self._server.start)
            self._runs = True
