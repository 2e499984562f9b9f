"""Opens plug-ins so that none holds up the others: one that is slow or unavailable opens later."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack
from typing import Protocol

from parley import ToolUnavailable
from shared.retry import retry_while_unavailable
from shared.settings import Settings

OPEN_TIMEOUT = 30.0  # seconds until the executor starts without a plug-in that neither opens nor fails

type Report = Callable[[str, BaseException | None], None]


class OpenablePlugin(Protocol):
    def open(self, settings: Settings) -> Awaitable[None]: ...
    def close(self) -> Awaitable[None]: ...


async def open_plugins(
    plugins: Mapping[str, OpenablePlugin], settings: Settings, opened: AsyncExitStack, report: Report
) -> None:
    """Open all of them at once. Returns when each is open or has failed, or after OPEN_TIMEOUT.

    Calls `report` with a plug-in's name and why it is not open, and with None once it is. One that is unavailable is
    tried again in the background.
    """
    openings = {name: _Opening(name, plugin, settings, report) for name, plugin in plugins.items()}
    tasks = [asyncio.create_task(opening.run(opened), name=f"open {name}") for name, opening in openings.items()]

    async def stop() -> None:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    opened.push_async_callback(stop)
    try:
        async with asyncio.timeout(OPEN_TIMEOUT):
            await asyncio.gather(*(opening.settled.wait() for opening in openings.values()))
    except TimeoutError:
        for name, opening in openings.items():
            if not opening.settled.is_set():
                report(name, TimeoutError(f"it has not opened within {OPEN_TIMEOUT:g} s"))


class _Opening:
    """One plug-in. `settled` is set once it is open, or has failed for the first time."""

    def __init__(self, name: str, plugin: OpenablePlugin, settings: Settings, report: Report) -> None:
        self._name, self._plugin, self._settings, self._report = name, plugin, settings, report
        self.settled = asyncio.Event()

    async def run(self, opened: AsyncExitStack) -> None:
        """Open it, however long that takes, unless it fails for good."""
        try:
            await retry_while_unavailable(ToolUnavailable)(self._try)()
        except (Exception, SystemExit) as error:  # third-party code: a failure affects this plug-in alone
            self._report(self._name, error)
        else:
            opened.push_async_callback(self._plugin.close)
            self._report(self._name, None)
        self.settled.set()

    async def _try(self) -> None:
        try:
            await self._plugin.open(self._settings)
        except ToolUnavailable as error:
            self._report(self._name, error)
            self.settled.set()
            raise
