"""Plugins: packs of tools, flows, step executors and plan generators, from installed packages and from folders."""

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
    """A plugin. `load` imports it and may raise any exception. `source` says where it comes from."""

    source: str
    load: Callable[[], object]


def installed_plugins(group: str) -> Iterator[Plugin]:
    """The plugins of installed packages in this group of entry points, sorted by name."""
    for entry in sorted(entry_points(group=group), key=lambda entry: entry.name):
        package = entry.dist.name if entry.dist else "?"
        yield Plugin(f"{entry.name} of the package {package}", entry.load)


def load_named[T](group: str, name: str, kind: type[T]) -> T:
    """The only instance of `kind` that an installed package provides under this name.

    Raises LookupError with what to do, or any exception of the plugin.
    """
    entries = [*entry_points(group=group, name=name)]
    if not entries:
        raise LookupError(f"no installed package has “{name}” among its entry points of the group {group}")
    if len(entries) > 1:
        raise LookupError(f"{len(entries)} installed packages have the entry point “{name}” of the group {group}")
    matches = instances(entries[0].load(), kind)
    if len(matches) != 1:
        raise LookupError(f"{entries[0].value} has {len(matches)} subclasses of {kind.__name__}: name exactly one")
    return matches[0]


def package_plugins(package: ModuleType) -> Iterator[Plugin]:
    """The `pack` modules of the packages inside this one."""
    for module in pkgutil.iter_modules(package.__path__):
        if module.ispkg:
            name = f"{package.__name__}.{module.name}.pack"
            yield Plugin(name, lambda name=name: importlib.import_module(name))  # type: ignore[misc]


def file_plugin(path: Path) -> Plugin:
    """The plugin in a module file or a package folder."""
    return Plugin(str(path), lambda: _import_file(path))


def instances[T](loaded: object, kind: type[T]) -> list[T]:
    """The instances of `kind` in a module, and a new one of each subclass that it defines without an instance.

    `loaded` may also be an instance or a subclass, as an entry point can name.
    """
    if isinstance(loaded, kind):
        return [loaded]
    if inspect.isclass(loaded) and issubclass(loaded, kind):
        return [loaded()]
    if not isinstance(loaded, ModuleType):
        return []
    values = list(vars(loaded).values())
    ready = list({id(value): value for value in values if isinstance(value, kind)}.values())
    defined = [value for value in values if inspect.isclass(value) and value.__module__ == loaded.__name__]
    classes = [value for value in defined if issubclass(value, kind) and value not in map(type, ready)]
    return [*ready, *(value() for value in classes)]


def _import_file(path: Path) -> ModuleType:
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
