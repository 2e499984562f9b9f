"""Loads all flows: those that ship, those in the operator's folder, and those of installed packages.

A broken flow is reported, and the others still work.
"""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import structlog

from flows.graph_checks import BadFlow, check
from flows.yaml_flow import YamlFlow
from parley.flow import Flow
from shared.plugins import file_plugin, installed_plugins, instances

log = structlog.get_logger("flows")
GROUP = "parley.flows"  # of entry points: a module, a subclass of Flow, or an instance
SHIPPED = Path(__file__).parent
YAML = (".yaml", ".yml")


class Flows:
    """Flows by name. If two have the same name, the first wins. `troubles` tell what could not be loaded, and why."""

    def __init__(self, flows: Iterable[Flow], folder: Path | None = None) -> None:
        self._flows: dict[str, Flow] = {}
        self.troubles: tuple[str, ...] = ()
        for flow in flows:
            self._add(flow.name, [flow])
        for path in sorted(SHIPPED.glob("*.yaml")):
            self._add(path.name, _read(path))
        for path in self._files(folder):
            self._add(str(path), _read(path))
        for plugin in installed_plugins(GROUP):
            self._add(plugin.source, _flows(plugin.load))

    def all(self) -> tuple[Flow, ...]:
        return tuple(self._flows.values())

    def find(self, name: str) -> Flow | None:
        return self._flows.get(name)

    def _files(self, folder: Path | None) -> list[Path]:
        if folder is None:
            return []
        if not folder.is_dir():
            self._report(f"{folder} is no folder: make it, or set PARLEY_FLOWS_DIR to another one.")
            return []
        return sorted(path for path in folder.iterdir() if path.suffix in (*YAML, ".py"))

    def _add(self, source: str, flows: Iterable[Flow]) -> None:
        try:
            for flow in flows:
                check(flow.spec())
                if flow.name in self._flows:
                    raise BadFlow(flow.name, ("There is a flow of this name already: rename one.",))
                self._flows[flow.name] = flow
        except BadFlow as error:
            self._report(f"{source}: {error}")
        except (Exception, SystemExit) as error:  # the operator's own code: a failure affects this file alone
            self._report(f"{source}: {type(error).__name__}: {error}")

    def _report(self, text: str) -> None:
        log.error("flow_not_loaded", why=text)
        self.troubles = (*self.troubles, text[:2_000])


def _read(path: Path) -> Iterator[Flow]:
    """The flows of one file, loaded lazily."""
    if path.suffix in YAML:
        yield YamlFlow(path)
        return
    yield from _flows(file_plugin(path).load)


def _flows(load: Callable[[], object]) -> Iterator[Flow]:
    members = instances(load(), Flow)
    if not members:
        raise BadFlow("", ("It defines no subclass of Flow.",))
    yield from members
