"""A result in a sentence or a short list, and which chart shows it best."""

import re
from collections.abc import Sequence
from typing import Literal

from pydantic import JsonValue

Chart = Literal["none", "bar", "line"]
Rows = Sequence[Sequence[JsonValue]]
LISTED, BARS = 10, 40  # rows listed in an answer; rows that a chart can show
_TIME = re.compile(r"^(?:1[5-9]|20)\d\d(?:-\d\d(?:-\d\d)?)?(?:[T ].*)?$")
_TEXTUAL = re.compile(r"(?:^|_)(?:id|zip|year|number|code|phone|position)$", re.IGNORECASE)


def answer(columns: Sequence[str], rows: Rows, row_count: int, *, truncated: bool) -> tuple[str, Chart]:
    """What the rows say, no more. `row_count`: how many there are, of which `rows` may be the first."""
    if not rows:
        return "There are no rows: nothing in the data matches the question.", "none"
    if len(rows) == 1 and row_count <= 1:
        return _single(columns, rows[0]), "none"
    more = "at least " if truncated else ""
    lines = [f"- {_line(columns, row)}" for row in rows[:LISTED]]
    head = f"There are {more}{row_count:,} rows" + (f"; the first {LISTED}:" if row_count > LISTED else ":")
    return "\n".join([head, *lines]), _chart(columns, rows, row_count)


def formatted(column: str, value: JsonValue) -> str:
    """A value as people write it: thousands parted, cents where there are any; ids and years as they are."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value) if _TEXTUAL.search(column) else f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if value.is_integer() and abs(value) < 1e15 else f"{value:,.2f}"
    return str(value)


def _single(columns: Sequence[str], row: Sequence[JsonValue]) -> str:
    parts = (f"{_words(name)}: **{formatted(name, value)}**" for name, value in zip(columns, row, strict=False))
    return "The data hold no value for this." if list(row) == [None] else f"{'; '.join(parts)}."


def _line(columns: Sequence[str], row: Sequence[JsonValue]) -> str:
    """Texts first, joined; then numbers with their names."""
    texts = [formatted(name, value) for name, value in zip(columns, row, strict=False) if not _number(value)]
    numbers = [(name, formatted(name, value)) for name, value in zip(columns, row, strict=False) if _number(value)]
    if len(numbers) == 1 and texts:
        return f"{' '.join(texts)}: {numbers[0][1]}"
    parts = ", ".join(f"{_words(name).lower()} {value}" for name, value in numbers)
    return f"{', '.join(texts)}{': ' if texts and parts else ''}{parts}"


def _words(column: str) -> str:
    text = re.sub(r"[_\s]+", " ", column).strip() or "Value"
    return text[:1].upper() + text[1:]


def _number(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _chart(columns: Sequence[str], rows: Rows, row_count: int) -> Chart:
    """Bars for a number of each thing, a line for a number over time."""
    if len(columns) < 2 or row_count < 2 or row_count > BARS * 5:
        return "none"
    numeric = [all(_number(row[at]) or row[at] is None for row in rows) for at in range(len(columns))]
    measures = [at for at in range(1, len(columns)) if numeric[at] and not _TEXTUAL.search(columns[at])]
    if not measures:
        return "none"
    first = [row[0] for row in rows]
    time = all(_TIME.match(str(value)) for value in first if value is not None)
    if time and (isinstance(first[0], str) or re.search(r"year", columns[0])):
        return "line"
    plain = not numeric[0] and len(measures) == 1 and len(set(map(str, first))) >= len(first) * 0.7
    return "bar" if plain and row_count <= BARS else "none"
