"""Classes, functions, parameters and modules are named by the field's standard terms, and a class name has one meaning.

`standard_terms.json` lists unwanted names with the terms to use instead; underscores around a name do not matter.
"""

import ast
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.test_architecture import CODE, name, nodes, sources

TERMS = json.loads((Path(__file__).parent / "standard_terms.json").read_text(encoding="utf-8"))
EVERYWHERE: dict[str, str] = TERMS["everywhere"]
IN_PACKAGE: dict[str, dict[str, str]] = TERMS["in_package"]  # words that mean something plain in another package


def names(path: Path) -> Iterator[tuple[str, int]]:
    """The name of the module, as `name.py`, and those of its classes, functions and parameters, with their lines."""
    yield path.name, 1
    for node in nodes(path):
        match node:
            case ast.ClassDef():
                yield node.name, node.lineno
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.name, node.lineno
            case ast.arg():
                yield node.arg, node.lineno


def replacement(word: str, path: Path) -> str:
    """The standard term for this name in this module; "" if the name is allowed."""
    plain = word.strip("_")
    if (everywhere := plain.removesuffix(".py")) in EVERYWHERE:
        return EVERYWHERE[everywhere]
    if "patience" in plain.lower():
        return "timeout"
    named = ((package, terms[plain]) for package, terms in IN_PACKAGE.items() if plain in terms)
    return next((term for package, term in named if name(path).startswith(f"{package}/")), "")


@pytest.mark.parametrize("folder", [*CODE, "examples", "tests"])
def test_names_are_the_fields_standard_terms(folder: str) -> None:
    assert [
        f"{name(path)}:{line} {word}: {term}"
        for path in sources(folder)
        for word, line in names(path)
        if (term := replacement(word, path))
    ] == []


# Messages share their names with commands, and schemas are titled by their classes.
SHARED_CLASS_NAMES = {"Answer", "AnswerReply", "Continue", "Result"}


def test_a_class_name_has_one_meaning() -> None:
    """A message of the protocol shares its name with the command that it becomes; no other two classes do."""
    modules: dict[str, set[str]] = {}
    for path in sources(*CODE):
        if path.name.startswith("test_") or "tests" in path.parts:
            continue
        for node in nodes(path):
            if isinstance(node, ast.ClassDef):
                modules.setdefault(node.name, set()).add(name(path))
    message_and_command = {"parley/protocol/client.py", "shared/domain/kernel/commands.py"}
    assert {
        class_name: sorted(paths)
        for class_name, paths in modules.items()
        if len(paths) > 1 and paths != message_and_command and class_name not in SHARED_CLASS_NAMES
    } == {}
