"""Small changes to any Python program: rename, docstrings, comments, a constant."""

import ast
import io
import keyword
import re
import tokenize
from collections.abc import Iterator

_RENAME = re.compile(
    r".*\brename\b(?: the)?(?: function| class| variable| method| constant)?"
    r" [`'\"]?(\w+)[`'\"]? (?:to|into|as) [`'\"]?(\w+)",
    re.IGNORECASE | re.DOTALL,
)
_DOCSTRINGS = re.compile(r"\bdoc-?\s?strings?\b", re.IGNORECASE)
_COMMENTS = re.compile(r"\bcomments?\b", re.IGNORECASE)
_HINTS = re.compile(r"\btype\s?(hint|annotation)s?\b|\bannotations\b", re.IGNORECASE)
type Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def edit(code: str, wish: str) -> tuple[str, str] | None:
    """The changed code and a sentence about it; None where the wish is none of ours or cannot be done."""
    try:
        tree = ast.parse(code)
    except SyntaxError:
        return None
    if names := renaming(wish):
        changed = rename(code, *names)
        done = (changed, f"Renamed {names[0]} to {names[1]}.") if changed else None
        return (code, "") if is_renamed(code, *names) else done
    if _DOCSTRINGS.search(wish):
        return add_docstrings(code, tree)
    if _HINTS.search(wish):
        return (code, "Every function already has type hints.") if _hinted(tree) else None
    if _COMMENTS.search(wish):
        return add_comments(code, tree)
    return None


def rename(code: str, old: str, new: str) -> str | None:
    """Rename an identifier everywhere but in texts; None where it does not occur or the new name is not free."""
    tokens = list(tokenize.generate_tokens(io.StringIO(code).readline))
    names = {token.string for token in tokens if token.type == tokenize.NAME}
    if old not in names or new in names or not new.isidentifier() or keyword.iskeyword(old) or keyword.iskeyword(new):
        return None
    lines = code.splitlines(keepends=True)
    for token in reversed(tokens):
        if token.type == tokenize.NAME and token.string == old:
            row, start = token.start[0] - 1, token.start[1]
            lines[row] = lines[row][:start] + new + lines[row][start + len(old) :]
    return "".join(lines)


def set_constant(code: str, name: str, value: int) -> str | None:
    """Change `NAME = number` at the top level; None where there is no such line."""
    changed, count = re.subn(rf"^{name} = \d[\d_]*", f"{name} = {value}", code, flags=re.MULTILINE)
    return changed if count else None


def constant(code: str, name: str) -> int | None:
    """The value of `NAME = number` at the top level."""
    found = re.search(rf"^{name} = (\d[\d_]*)", code, re.MULTILINE) if name else None
    return int(found[1]) if found else None


def add_docstrings(code: str, tree: ast.Module) -> tuple[str, str]:
    """Give every function and class without a docstring one made of its name."""
    lines = code.splitlines()
    bare = [
        node for node in _definitions(tree) if ast.get_docstring(node) is None and node.body[0].lineno > node.lineno
    ]
    for node in sorted(bare, key=lambda node: node.body[0].lineno, reverse=True):
        first = node.body[0]
        words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", node.name.strip("_")).replace("_", " ")
        top = min([first.lineno, *(d.lineno for d in getattr(first, "decorator_list", []))])
        lines.insert(top - 1, f'{" " * first.col_offset}"""{words[:1].upper()}{words[1:]}."""')
    said = f"Added {len(bare)} docstrings." if bare else "Every function and class already has a docstring."
    return "\n".join(lines) + "\n", said


def add_comments(code: str, tree: ast.Module) -> tuple[str, str]:
    """Put a comment above every function and class at the top level that has none."""
    lines = code.splitlines()
    count = 0
    for node in reversed(
        [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)]
    ):
        top = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1
        if top and lines[top - 1].lstrip().startswith("#"):
            continue
        text = (ast.get_docstring(node) or node.name.replace("_", " ")).splitlines()[0]
        lines.insert(top, f"# {node.name}: {text}")
        count += 1
    said = f"Added {count} comments." if count else "Every function and class already has a comment."
    return "\n".join(lines) + "\n", said


def _definitions(tree: ast.Module) -> Iterator[Definition]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef))


def _hinted(tree: ast.Module) -> bool:
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
    return all(
        function.returns and all(arg.annotation for arg in function.args.args if arg.arg not in ("self", "cls"))
        for function in functions
    )


def renaming(wish: str) -> tuple[str, str] | None:
    """The old and the new name, where the wish is to rename something."""
    match = _RENAME.match(wish)
    return (match[1], match[2]) if match else None


def is_renamed(code: str, old: str, new: str) -> bool:
    """Whether the code uses the new name and not the old one."""
    return bool(re.search(rf"\b{new}\b", code)) and not re.search(rf"\b{old}\b", code)
