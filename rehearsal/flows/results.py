"""A result in words, and the chart that shows it best."""

import re
from collections.abc import Sequence

LISTED, BARS = 10, 40  # rows listed in an answer; rows that a chart can show
Rows = Sequence[Sequence[object]]


def answer(columns: Sequence[str], rows: Rows, row_count: int, *, truncated: bool) -> tuple[str, str]:
    """What the rows say, and a chart: none, bar or line. `row_count`: how many rows there are."""
    if not rows:
        return "There are no rows: nothing in the data matches the question.", "none"
    if len(rows) == 1 and row_count <= 1:
        values = (f"{name}: **{_formatted(value)}**" for name, value in zip(columns, rows[0], strict=False))
        return f"{'; '.join(values)}.", "none"
    more = "at least " if truncated else ""
    head = f"There are {more}{row_count} rows{f'; the first {LISTED}' if row_count > LISTED else ''}:"
    lines = [f"- {': '.join(map(_formatted, row))}" for row in rows[:LISTED]]
    return "\n".join([head, *lines]), _chart(rows, row_count)


def _formatted(value: object) -> str:
    if value is None:
        return "none"
    return f"{value:,.2f}" if isinstance(value, float) and not value.is_integer() else str(value)


def _chart(rows: Rows, row_count: int) -> str:
    """A line for a number over time, bars for a number of each thing."""
    if not all(len(row) == 2 and isinstance(row[1], int | float) for row in rows) or row_count > BARS:
        return "none"
    return "line" if all(re.match(r"\d{4}-\d\d", str(row[0])) for row in rows) else "bar"
