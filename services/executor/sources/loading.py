"""Loads all packs: those that ship, those in the operator's folder, and those of installed packages.

A pack that fails to load is reported, and the others still work.
"""

from collections.abc import Iterable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import structlog

import packs
from parley import Pack, ToolUnavailable
from shared.plugins import Plugin, file_plugin, installed_plugins, instances, package_plugins
from shared.retry import retry_while_unavailable
from shared.settings import Settings

log = structlog.get_logger("executor")
GROUP = "parley.tools"  # of entry points: a module, a subclass of Pack, or an instance


class LoadedPacks:
    """Packs by name, in loading order. If two have the same name, the first wins.

    `troubles` tell which packs could not be loaded or opened, and why.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self.packs: dict[str, Pack] = {}
        self.troubles: list[str] = []
        for plugin in self._plugins(folder):
            self._add(plugin)

    async def open(self, settings: Settings, opened: AsyncExitStack) -> None:
        """Open each pack; leave out those that fail to open."""
        for name, pack in list(self.packs.items()):
            try:
                await retry_while_unavailable(ToolUnavailable)(pack.open)(settings)
            except Exception as error:  # third-party code: a failure affects this pack alone
                self._report(f"The pack {name} cannot be opened: {type(error).__name__}: {error}")
                del self.packs[name]
            else:
                opened.push_async_callback(pack.close)

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
        self.troubles.append(text[:2_000])


def _is_module(path: Path) -> bool:
    return path.suffix == ".py" or (path / "__init__.py").is_file()


def _check_distinct(pack: Pack, others: Iterable[Pack]) -> None:
    """Raises ValueError if another pack has the same name or a tool of the same name."""
    for other in others:
        if pack.name == other.name:
            raise ValueError(f"there is a pack {pack.name} already: rename one")
        if common := {tool.name for tool in pack.tools} & {tool.name for tool in other.tools}:
            raise ValueError(f"the pack {other.name} has a tool {min(common)} already: rename one")
