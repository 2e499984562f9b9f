"""All flows there are: those that ship, and those of the operator's own folder. A broken one is told of, no more."""

import importlib.util
import inspect
from collections.abc import Iterable, Iterator
from pathlib import Path

import structlog

from flows.checks import BadFlow, check
from flows.flow import Flow
from flows.yaml_flow import YamlFlow

log = structlog.get_logger("flows")
SHIPPED = Path(__file__).parent
YAML = (".yaml", ".yml")


class Flows:
    """Flows by name; of two with one name the first. `troubles`: what could not be loaded, and why."""

    def __init__(self, flows: Iterable[Flow], folder: Path | None = None) -> None:
        self._flows: dict[str, Flow] = {}
        self.troubles: tuple[str, ...] = ()
        for flow in flows:
            self._add(flow.name, [flow])
        for path in sorted(SHIPPED.glob("*.yaml")):
            self._add(path.name, _read(path))
        for path in self._files(folder):
            self._add(str(path), _read(path))

    def all(self) -> tuple[Flow, ...]:
        return tuple(self._flows.values())

    def find(self, name: str) -> Flow | None:
        return self._flows.get(name)

    def _files(self, folder: Path | None) -> list[Path]:
        if folder is None:
            return []
        if not folder.is_dir():
            self._trouble(f"{folder} is no folder: make it, or set PARLEY_FLOWS_DIR to another one.")
            return []
        return sorted(path for path in folder.iterdir() if path.suffix in (*YAML, ".py"))

    def _add(self, source: str, found: Iterable[Flow]) -> None:
        try:
            for flow in found:
                check(flow.spec())
                if flow.name in self._flows:
                    raise BadFlow(flow.name, ("There is a flow of this name already: rename one.",))
                self._flows[flow.name] = flow
        except BadFlow as error:
            self._trouble(f"{source}: {error}")
        except (Exception, SystemExit) as error:  # the operator's own code: what it raises takes away this file alone
            self._trouble(f"{source}: {type(error).__name__}: {error}")

    def _trouble(self, text: str) -> None:
        log.error("flow_not_loaded", why=text)
        self.troubles = (*self.troubles, text[:2_000])


def _read(path: Path) -> Iterator[Flow]:
    """The flows of one file, read when they are asked for."""
    if path.suffix in YAML:
        yield YamlFlow(path)
        return
    spec = importlib.util.spec_from_file_location(f"parley_flow_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise BadFlow(path.name, ("This is no Python module.",))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    own = [one for one in vars(module).values() if inspect.isclass(one) and one.__module__ == module.__name__]
    found = [one for one in own if issubclass(one, Flow)]
    if not found:
        raise BadFlow(path.name, ("It defines no subclass of flows.flow.Flow.",))
    for one in found:
        yield one()
