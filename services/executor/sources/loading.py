"""Loads all packs: those that ship, those in the operator's folder, and those of installed packages.

A pack that fails to load is reported, and the others still work.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Protocol

import structlog

import packs
from parley import Pack, ToolUnavailable
from shared.logging import excerpt_of
from shared.plugins import Plugin, file_plugin, installed_plugins, instances, package_plugins
from shared.retry import retry_while_unavailable
from shared.settings import Settings

OPEN_TIMEOUT = 30.0  # seconds until the executor starts without a plug-in that neither opens nor fails

type Report = Callable[[str, BaseException | None], None]
log = structlog.get_logger("executor")
GROUP = "parley.tools"  # of entry points: a module, a subclass of Pack, or an instance


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


class LoadedPacks:
    """Packs by name. If two have the same name, the first wins.

    `reports` tell which packs could not be loaded. `version` changes whenever a pack opens late.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.packs: dict[str, Pack] = {}  # after `open`: those that are open
        self.version = 0
        self._reports: list[str] = []
        self._unopened: dict[str, str] = {}  # why, by pack
        for plugin in self._plugins(folder):
            self._add(plugin)

    @property
    def troubles(self) -> list[str]:
        """Which packs are not loaded or not open, and why."""
        return [*self._reports, *self._unopened.values()]

    async def open(self, settings: Settings, opened: AsyncExitStack) -> None:
        """Open each pack; leave out those that fail to open, until they do."""
        packs = dict(self.packs)

        def report(name: str, error: BaseException | None) -> None:
            before = self._unopened.pop(name, "")
            if error is None:
                self.packs[name] = packs[name]
            else:
                self.packs.pop(name, None)
                why = self._unopened[name] = excerpt_of(f"The pack {name} cannot be opened: {_in_words(error)}", 2_000)
                if why == before:
                    return  # tried again
                log.error("pack_not_loaded", why=why)
            self.version += 1

        await open_plugins(packs, settings, opened, report)

    def _plugins(self, folder: Path | None) -> Iterator[Plugin]:
        yield from package_plugins(packs)
        if folder is not None and not folder.is_dir():
            self._report(f"{folder} is no folder: make it, or set PARLEY_PACKS_DIR to another one.")
        elif folder is not None:
            yield from (file_plugin(path) for path in sorted(folder.iterdir()) if _is_module(path))
        yield from installed_plugins(GROUP)

    def _add(self, plugin: Plugin) -> None:
        try:
            loaded = instances(plugin.load(), Pack)
            if not loaded:
                raise ValueError("it has no pack: an instance of parley.Pack, or a subclass")
            for pack in loaded:
                _check_distinct(pack, self.packs.values())
                self.packs[pack.name] = pack
        except (Exception, SystemExit) as error:
            self._report(f"{plugin.source}: {type(error).__name__}: {error}")

    def _report(self, text: str) -> None:
        log.error("pack_not_loaded", why=text)
        self._reports.append(excerpt_of(text, 2_000))


def _in_words(error: BaseException) -> str:
    """The error; of one that passes by itself also what follows."""
    if isinstance(error, ToolUnavailable):
        return f"{error}. Its tools are back as soon as it opens."
    return f"{type(error).__name__}: {error}"


def _is_module(path: Path) -> bool:
    return path.suffix == ".py" or (path / "__init__.py").is_file()


def _check_distinct(pack: Pack, others: Iterable[Pack]) -> None:
    """Raises ValueError if another pack has the same name or a tool of the same name."""
    for other in others:
        if pack.name == other.name:
            raise ValueError(f"there is a pack {pack.name} already: rename one")
        if common := {tool.name for tool in pack.tools} & {tool.name for tool in other.tools}:
            raise ValueError(f"the pack {other.name} has a tool {min(common)} already: rename one")
