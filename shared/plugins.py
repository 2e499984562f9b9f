"""Code of other people's: packs of tools and flows, from installed packages and from a folder."""

import importlib
import importlib.util
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import NamedTuple


class Plugin(NamedTuple):
    """`load` imports it, and may raise whatever that code raises. `source` tells people where it comes from."""

    source: str
    load: Callable[[], object]


def installed(group: str) -> Iterator[Plugin]:
    """What installed packages offer under this group of entry points, in order of name."""
    for entry in sorted(entry_points(group=group), key=lambda entry: entry.name):
        package = entry.dist.name if entry.dist else "?"
        yield Plugin(f"{entry.name} of the package {package}", entry.load)


def in_package(package: ModuleType) -> Iterator[Plugin]:
    """The packages inside this one, each by its module `pack`."""
    for found in pkgutil.iter_modules(package.__path__):
        if found.ispkg:
            name = f"{package.__name__}.{found.name}.pack"
            yield Plugin(name, lambda name=name: importlib.import_module(name))  # type: ignore[misc]


def in_file(path: Path) -> Plugin:
    """A module, or a folder that is a package."""
    return Plugin(str(path), lambda: _imported(path))


def instances[T](loaded: object, kind: type[T]) -> list[T]:
    """The instances of `kind` that this is or, as a module, has; a subclass that it defines gives one of its own."""
    if isinstance(loaded, kind):
        return [loaded]
    if inspect.isclass(loaded) and issubclass(loaded, kind):
        return [loaded()]
    values = list(vars(loaded).values()) if isinstance(loaded, ModuleType) else []
    found = list({id(value): value for value in values if isinstance(value, kind)}.values())
    own = [value for value in values if inspect.isclass(value) and value.__module__ == getattr(loaded, "__name__", "")]
    return [*found, *(one() for one in own if issubclass(one, kind) and not any(type(it) is one for it in found))]


def _imported(path: Path) -> ModuleType:
    package = path / "__init__.py"
    name = f"parley_plugin_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, package if path.is_dir() else path)
    if spec is None or spec.loader is None:
        raise ImportError("This is no Python module.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # so that a package may import its own modules
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module
