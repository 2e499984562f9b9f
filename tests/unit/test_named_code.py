"""Names of code in docstrings and guides exist, and what a field means fits its type."""

import ast
import builtins
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from parley.protocol.schema import protocol_schema
from scripts.generate import ROOT
from tests.unit.test_architecture import nodes, transitive_imports

PACKAGES = ("services", "shared", "parley", "packs", "sql", "flows", "rehearsal", "cli", "bench", "chaos", "scripts")
SOURCES = sorted(path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
GUIDES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
RAISES = re.compile(r"\b[Rr]aises? ((?:`?[A-Z]\w+`?(?:\([^)]*\))?(?:, | or | and )?)+)")
CAMEL = re.compile(r"`([A-Z][a-z0-9]+(?:[A-Z][a-z0-9]*)+)(?:[.(][^`]*)?`")
DOTTED = re.compile(rf"(?<![\w./])((?:{'|'.join(PACKAGES)})(?:\.[A-Za-z_]\w*)+)\b")
# Of other programs, and of examples.
ELSEWHERE = frozenset({"StatefulSet", "NetworkPolicy", "BaseFlow", "MyReply", "MaxTokens", "FinishReason"})


@cache
def names_of(path: Path) -> frozenset[str]:
    """Every name that the module defines, imports or uses."""
    names = set[str]()
    for node in nodes(path):
        match node:
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name) | ast.Name(id=name) | ast.Attribute(attr=name):
                names.add(name)
            case ast.alias(name=name):
                names.add(name.rpartition(".")[2])
    return frozenset(names)


@cache
def known() -> frozenset[str]:
    """The names of all code, also of the page."""
    page = (path.read_text("utf-8") for path in (ROOT / "web" / "src").rglob("*.ts*"))
    elsewhere = ELSEWHERE.union(*(re.findall(r"\b[A-Z]\w+", text) for text in page))
    return elsewhere.union(dir(builtins), *map(names_of, SOURCES))


@cache
def strings() -> frozenset[str]:
    """The strings in code, such as subjects and groups of entry points, which look like names of modules."""
    constants = (node.value for path in SOURCES for node in nodes(path) if isinstance(node, ast.Constant))
    return frozenset(value for value in constants if isinstance(value, str))


@cache
def docstrings() -> tuple[tuple[str, str], ...]:
    documented = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    return tuple(
        (str(path.relative_to(ROOT)), ast.get_docstring(node) or "")
        for path in SOURCES
        for node in nodes(path)
        if isinstance(node, documented)
    )


def texts() -> Iterator[tuple[str, str]]:
    """Every docstring and guide, with the file that it is in."""
    yield from docstrings()
    yield from ((path.name, path.read_text("utf-8")) for path in GUIDES)


def test_exceptions_in_docstrings_exist() -> None:
    """In the module, in what it imports, or in its folder: a name that only other packages have is an old one."""
    missing = {
        f"{path}: {name}"
        for path, text in docstrings()
        for raised in RAISES.findall(text)
        for name in re.findall(r"\b[A-Z]\w+", re.sub(r"\([^)]*\)", "", raised))
        if name not in visible(ROOT / path)
    }
    assert missing == set()


@cache
def visible(path: Path) -> frozenset[str]:
    modules = transitive_imports(path) | set(path.parent.glob("*.py"))
    return frozenset(dir(builtins)).union(*map(names_of, modules))


def test_class_names_in_backticks_exist() -> None:
    assert {f"{path}: {name}" for path, text in texts() for name in CAMEL.findall(text) if name not in known()} == set()


def test_dotted_names_exist() -> None:
    assert {f"{path}: {name}" for path, text in texts() for name in DOTTED.findall(text) if not resolves(name)} == set()


def resolves(dotted: str) -> bool:
    """Whether it is a module of this repository, or a name that one of them defines, imports or uses."""
    if dotted in strings() or dotted.endswith((".py", ".md")) or dotted.startswith("parley.db"):
        return True
    parts = dotted.split(".")
    for count in range(len(parts), 0, -1):
        base = ROOT.joinpath(*parts[:count])
        module = base.with_suffix(".py") if base.with_suffix(".py").is_file() else base / "__init__.py"
        if module.is_file() or base.is_dir():
            rest = parts[count:]
            text = module.read_text("utf-8") if module.is_file() else ""
            return all(re.search(rf"\b{name}\b", text) if n == 0 else name in known() for n, name in enumerate(rest))
    return False


def test_a_description_serves_fields_of_one_type() -> None:
    """One that follows from the field's name is wrong where another field has this name."""
    fields: defaultdict[str, defaultdict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for model, schema in protocol_schema()["$defs"].items():
        for name, spec in schema.get("properties", {}).items():
            if "description" in spec:
                fields[spec["description"]]["|".join(sorted(kinds(spec)))].append(f"{model}.{name}")
    assert [dict(by_type) for by_type in fields.values() if len(by_type) > 1] == []


def kinds(spec: dict[str, Any]) -> set[str]:
    """The JSON types of a schema, without null and without bounds; all models count as objects."""
    match spec:
        case {"anyOf": parts}:
            return set().union(*map(kinds, parts)) - {"null"}
        case {"$ref": _} | {"oneOf": _}:
            return {"object"}
        case {"enum": values}:
            return {str(values)}
        case {"type": "array", "items": items}:
            return {f"list of {sorted(kinds(items))}"}
        case _:
            return {str(spec.get("const", spec.get("type")))}
