"""`parley sql`: a database that is only read, as a table for people or over JSON lines for programs.

One request a line, {"sql": …}; one answer a line: {"columns": …, "rows": …, "truncated": …}, or {"error": …, "kind": …}
for a statement that was refused or failed, and with the kind "bad_line" for a line that is no such request.
"""

import asyncio
import json
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Any, BinaryIO

from pydantic import JsonValue

from cli.visible import print_visible, visible
from sql.database import BadDatabase, Database, Hidden, Limits, SqlError, Table, open_database
from sql.schema import ColumnInfo, Schema

LONGEST = 50_000_000  # bytes of a line
WIDEST = 60  # characters of a cell in a table for people


def run(url: str, hidden: Hidden, limits: Limits, work: Callable[[Database], Awaitable[int]]) -> int:
    """Open the database for this. Exit code 2: it could not be opened."""

    async def whole() -> int:
        database = open_database(url, limits, hidden)
        try:
            await database.check("SELECT 1")  # a server is only reached when it is first asked
            return await work(database)
        finally:
            await database.aclose()

    try:
        return asyncio.run(whole())
    except (BadDatabase, SqlError) as error:
        print(f"parley sql: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nothing is left to be said at exit
        return 0


async def lines(database: Database) -> int:
    """Serve stdin and stdout. A reader that goes away ends it."""
    return await serve(database, iter(partial(_line, sys.stdin.buffer), b""), sys.stdout.buffer)


def _line(stream: BinaryIO) -> bytes:
    """The next one; of one that is far too long, what cannot be taken for a request."""
    line = part = stream.readline(LONGEST)
    while len(part) == LONGEST and not part.endswith(b"\n"):
        line = b"(far too long)\n"
        part = stream.readline(LONGEST)
    return line


async def serve(database: Database, requests: Iterable[bytes], answers: BinaryIO) -> int:
    """Answer one line after another."""
    for line in requests:
        answers.write(json.dumps(await _answer(database, line)).encode() + b"\n")
        answers.flush()
    return 0


async def _answer(database: Database, line: bytes) -> dict[str, Any]:
    try:
        request = json.loads(line)
    except (ValueError, RecursionError) as error:
        return {"error": f"this line is not JSON: {error}", "kind": "bad_line"}
    if not isinstance(request, dict) or not isinstance(request.get("sql"), str):
        return {"error": 'a line is {"sql": "…"}', "kind": "bad_line"}
    try:
        table = await database.run(request["sql"])
    except SqlError as error:
        return {"error": error.message, "kind": error.kind}
    except Exception as error:  # whatever it is, the next line is not to suffer from it
        logging.getLogger(__name__).exception("a statement without an answer")
        return {"error": f"It could not be answered: {type(error).__name__}.", "kind": "database"}
    return {"columns": table.columns, "rows": table.rows, "truncated": table.truncated}


async def one(database: Database, sql: str) -> int:
    """A statement's rows as a table. Exit code 1: there are none, and why."""
    try:
        table = await database.run(sql)
    except SqlError as error:
        print(visible(f"parley sql: {error.kind}: {error.message}"), file=sys.stderr)
        return 1
    print_visible("\n".join(shown(table)))
    return 0


def shown(table: Table) -> list[str]:
    """The table in lines, numbers to the right."""
    cells = [[_cell(value) for value in row] for row in table.rows]
    widths = [max(map(len, column)) for column in zip(table.columns, *cells, strict=True)]
    numbers = [
        any(isinstance(row[place], int | float) for row in table.rows if row[place] is not None)
        for place in range(len(table.columns))
    ]

    def line(row: Iterable[str]) -> str:
        parts = zip(row, widths, numbers, strict=True)
        return "  ".join(text.rjust(width) if number else text.ljust(width) for text, width, number in parts).rstrip()

    more = ", and there are more: raise --max-rows" if table.truncated else ""
    count = f"{_rows(len(cells))}{more} ({table.seconds:.3f} s)"
    return [line(table.columns), line("─" * width for width in widths), *map(line, cells), count]


def _rows(count: int) -> str:
    return f"{count} row{'' if count == 1 else 's'}"


def _cell(value: JsonValue) -> str:
    text = "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = text.replace("\n", "⏎")
    return text if len(text) <= WIDEST else text[: WIDEST - 1] + "…"


async def schema(database: Database) -> int:
    """What there is to ask for."""
    print_visible("\n".join(described(await database.schema())))
    return 0


def described(schema: Schema) -> list[str]:
    """Tables with their columns, in lines."""
    found: list[str] = []
    for table in schema.tables:
        rows = "" if table.rows is None else f"  {_rows(table.rows)}"
        found.append(f"{table.name}{rows}{f'  {table.comment}' if table.comment else ''}")
        width = max((len(column.name) for column in table.columns), default=0)
        found += [f"  {column.name.ljust(width)}  {_about(column)}".rstrip() for column in table.columns]
    return found


def _about(column: ColumnInfo) -> str:
    parts = [column.type, "key" if column.key else "", f"→ {column.references}" if column.references else ""]
    samples = ", ".join(_cell(value) for value in column.samples)
    return "  ".join(part for part in (*parts, column.comment, f"e.g. {samples}" if samples else "") if part)
