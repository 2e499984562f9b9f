"""Whether conditions of one statement go together: what no row can be, and what may be meant of one row or of two."""

import re
from collections.abc import Iterable, Iterator

_IS = re.compile(
    r"(?P<no>(?:\(?[\w\".]+ IS NULL OR )?NOT \()?\(?(?P<column>[\w\".]+) = (?P<value>'(?:[^']|'')*'|[\d.]+)\)*"
)
_SINCE = re.compile(r"([\w\".]+) >= ('[^']*')")
_UNTIL = re.compile(r"([\w\".]+) < ('[^']*')")
_NOT_WHEN = re.compile(r"NOT \(([\w\".]+) >= ('[^']*') AND [\w\".]+ < ('[^']*')\)")
_FROM = re.compile(r"\bFROM (\w+)")
_HELD = re.compile(r"(\w+?)(?:_\d+)?\.(\w+) = '")


def contradiction(where: Iterable[str], *, strictly: bool = False) -> str:
    """A column that would have to be two things, or (`strictly`) is one thing and not another; "" if there is none."""
    so: dict[str, set[str]] = {}
    others: dict[str, set[str]] = {}
    parts = [part for one in where for part in _parts(one)]
    if column := _elsewhen(parts):
        return f"{column} is at one time, so it is at no other"
    for part in parts:
        if found := _IS.fullmatch(part):
            (others if found["no"] else so).setdefault(found["column"], set()).add(found["value"])
    return next(
        (
            f"{column} is one thing, so it is no other"
            for column, values in so.items()
            if len(values) > 1 or (strictly and others.get(column))
        ),
        "",
    )


def _elsewhen(parts: list[str]) -> str:
    """A column of days that is told to be in one range and not in another that is no part of it."""
    since = {found[1]: found[2] for one in parts if (found := _SINCE.fullmatch(one))}
    until = {found[1]: found[2] for one in parts if (found := _UNTIL.fullmatch(one))}
    for one in parts:
        other = _NOT_WHEN.fullmatch(one)
        if other and other[1] in since and other[1] in until:
            column, begins, ends = other[1], other[2], other[3]
            if ends <= since[column] or begins >= until[column]:
                return column
    return ""


def _parts(condition: str) -> Iterator[str]:
    """What is joined by AND, one by one, in parentheses too; nothing within a SELECT of its own."""
    text = condition.strip()
    if text.startswith("(") and _closing(text) == len(text) - 1 and not text.startswith("(SELECT"):
        inner = text[1:-1]
        if " OR " not in inner or "IS NULL OR" in inner:
            yield from [text] if "IS NULL OR" in inner and " AND " not in inner else _parts(inner)
        return
    depth = 0
    for found in re.finditer(r"[()]| AND (?!\d)", text):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if depth == 0 and found[0].startswith(" AND"):
            yield from _parts(text[: found.start()])
            yield from _parts(text[found.end() :])
            return
    yield text


def _closing(text: str) -> int:
    """Where the parenthesis closes that the text begins with."""
    depth = 0
    for at, letter in enumerate(text):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if depth == 0:
            return at
    return -1


def confusable(parts: list[str]) -> str:
    """Several rows of one other table, each of which has to be: of which table, where one row may be meant as well.

    Two values of one column are of two rows for certain; anything else may be told of the same row.
    """
    found = [one for one in parts if one.startswith("EXISTS (")]
    for at, first in enumerate(found):
        for second in found[:at]:
            table, same = _FROM.findall(first)[0], set(_HELD.findall(first)) & set(_HELD.findall(second))
            if (same or table == _FROM.findall(second)[0]) and first != second and _form(first) != _form(second):
                return f"it is not clear whether the same row of {table} is meant"
    return ""


def _form(part: str) -> str:
    """The condition without the values that it names."""
    return re.sub(r" AS \w+|_\d+\b", "", re.sub(r"'(?:[^']|'')*'", "''", part))
