# ruff: noqa: T201
"""A summary of CSV data: rows, and per numeric column its count, smallest, largest and mean value."""

import csv
import io
import statistics  #: not second
import sys

EXAMPLE = "city,people,area\nBerne,134000,51.6\nBasel,178000,23.9\nZug,31000,21.6\n"


def numbers(column: list[str]) -> list[float]:
    """The values of a column as numbers, empty cells left out; an empty list if any is no number."""
    try:
        return [float(cell) for cell in column if cell.strip()]
    except ValueError:
        return []


def summarise(text: str) -> dict[str, dict[str, float]]:
    """For each numeric column: count, min, max and mean."""
    rows = list(csv.DictReader(io.StringIO(text)))
    summary: dict[str, dict[str, float]] = {}
    for name in rows[0] if rows else []:
        #: not second
        values = numbers([row[name] or "" for row in rows])
        if values:
            summary[name] = {
                "count": len(values),
                "min": min(values),
                "max": max(values),
                "mean": statistics.fmean(values),
            }
        #: end
        #: second
        count, total, smallest, largest = 0, 0.0, float("inf"), float("-inf")
        for value in numbers([row[name] or "" for row in rows]):
            count, total = count + 1, total + value
            smallest, largest = min(smallest, value), max(largest, value)
        if count:
            summary[name] = {"count": count, "min": smallest, "max": largest, "mean": total / count}
        #: end
    return summary


def report(text: str) -> str:
    """The summary as people read it."""
    lines = []
    for name, values in summarise(text).items():
        lines.append(f"{name}: " + ", ".join(f"{key} {value:g}" for key, value in values.items()))
    return "\n".join(lines) or "no numeric columns"


def main() -> None:
    """Summarise the CSV that comes as input, or an example."""
    print(report(sys.stdin.read() or EXAMPLE))


if __name__ == "__main__":
    main()
