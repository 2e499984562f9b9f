"""Names of a session's files: which are valid, and which two conflict. Pure.

A name must mean the same file on every disk that the files may be copied to: one that stores NFD, one that ignores
case, and one with folders.
"""

import unicodedata
from collections.abc import Iterable, Iterator

MAX_BYTES = 200
_UNSEEN = frozenset({"Cc", "Cs", "Zl", "Zp"})  # categories: control characters, halves of pairs, ends of lines
_MARKLESS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0") | frozenset(
    map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))  # variation selectors
)
_TURNS = frozenset({"LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI"})  # make gpj.exe look like exe.jpg


def file_name(text: str) -> str:
    """The name as it is stored, in NFC. Raises ValueError, whose message says what a valid name is."""
    name = unicodedata.normalize("NFC", text)
    if why := next(_wrong(name), ""):
        raise ValueError(f"{text[:80]!r} is no name for a file: {why}")
    return name


def clash(name: str, others: Iterable[str]) -> str:
    """Why a file of this name conflicts with the others; "" if it does not, or is one of them."""
    mine = {_folded(path): path for path in _paths(name)}
    for other in others:
        for path in _paths(other) if other != name else ():
            same = mine.get(_folded(path), "")
            if same and _visible(same) == _visible(path) and same != path:
                return f"{name} and {other} differ by characters that cannot be seen: write {path}"
            if same and same != path:
                return f"{name} and {other} differ by upper and lower case only in {same}: write {path}"
            if same and (same == name or path == other):
                return f"{same} cannot be a file and a folder: there are {other} and {name}"
    return ""


def _wrong(name: str) -> Iterator[str]:
    if any(unicodedata.category(char) in _UNSEEN or unicodedata.bidirectional(char) in _TURNS for char in name):
        yield "use no control characters"
    if "\\" in name:
        yield "folders are divided by /, not by a backslash"
    if name.startswith("/"):
        yield "begin with a folder or a name, not with /"
    if not all(_visible(part).strip() for part in name.split("/")):
        yield "a folder or the file has an empty name"
    if {".", ".."}.intersection(name.split("/")):
        yield "use no . or .. as a folder or a name"
    if (size := len(name.encode())) > MAX_BYTES:
        yield f"it has {size} bytes in UTF-8, and {MAX_BYTES} are allowed"


def _paths(name: str) -> Iterator[str]:
    """The file's folders, outermost first, and the file itself."""
    parts = name.split("/")
    return ("/".join(parts[:end]) for end in range(1, len(parts) + 1))


def _folded(path: str) -> str:
    return unicodedata.normalize("NFC", _visible(path).casefold())


def _visible(text: str) -> str:
    """The text without characters that leave no mark, such as a space of no width; some scripts need them in words."""
    return "".join(char for char in text if unicodedata.category(char) != "Cf" and char not in _MARKLESS)
