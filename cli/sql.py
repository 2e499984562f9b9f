"""`parley sql`: reads a database, as a table for people or over JSON lines for programs.

Each request is a line {"sql": …}. Each answer is a line {"columns": …, "rows": …, "truncated": …}, or {"error": …,
"kind": …} if the statement was refused or failed. The kind "bad_line" means that the line was not a valid request.
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

from cli.text import counted, print_visible, visible
from shared.environment import environment_variable
from sql.database import BadDatabase, Hidden, QueryLimits, QueryResult, ReadOnlyDatabase, SqlError, open_database
from sql.schema import ColumnInfo, Schema

MAX_LINE_BYTES = 50_000_000  # bytes of a request line
MAX_CELL = 60  # characters of a cell in a table


def run_with_database(
    url: str, hidden: Hidden, limits: QueryLimits, work: Callable[[ReadOnlyDatabase], Awaitable[int]]
) -> int:
    """Run `work` with the opened database. Exit code 2 if it cannot be opened."""

    async def open_and_run() -> int:
        database = open_database(url, limits, hidden, environment_variable("TZ"))
        try:
            await database.check("SELECT 1")  # the first statement connects to the server
            return await work(database)
        finally:
            await database.aclose()

    try:
        return asyncio.run(open_and_run())
    except (BadDatabase, SqlError) as error:
        print(f"parley sql: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # so that flushing at exit does not fail
        return 0


async def serve_stdin(database: ReadOnlyDatabase) -> int:
    """Serve stdin and stdout until stdin ends or stdout is closed."""
    return await serve(database, iter(partial(_line, sys.stdin.buffer), b""), sys.stdout.buffer)


def _line(stream: BinaryIO) -> bytes:
    """The next line; one that is too long is replaced by text that is not a request."""
    line = part = stream.readline(MAX_LINE_BYTES)
    while len(part) == MAX_LINE_BYTES and not part.endswith(b"\n"):
        line = b"(far too long)\n"
        part = stream.readline(MAX_LINE_BYTES)
    return line


async def serve(database: ReadOnlyDatabase, requests: Iterable[bytes], answers: BinaryIO) -> int:
    """Answer each line in turn."""
    for line in requests:
        answers.write(json.dumps(await _answer(database, line)).encode() + b"\n")
        answers.flush()
    return 0


async def _answer(database: ReadOnlyDatabase, line: bytes) -> dict[str, Any]:
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
    except Exception as error:  # any error: the next lines must still be answered
        logging.getLogger(__name__).exception("a statement without an answer")
        return {"error": f"It could not be answered: {type(error).__name__}.", "kind": "database"}
    return {"columns": table.columns, "rows": table.rows, "truncated": table.truncated}


async def run_statement(database: ReadOnlyDatabase, sql: str) -> int:
    """Print a statement's rows as a table. Exit code 1 and an error if it fails."""
    try:
        table = await database.run(sql)
    except SqlError as error:
        print(visible(f"parley sql: {error.kind}: {error.message}"), file=sys.stderr)
        return 1
    print_visible("\n".join(table_lines(table)))
    return 0


def table_lines(table: QueryResult) -> list[str]:
    """The table as lines, numbers aligned right."""
    cells = [[_cell(value) for value in row] for row in table.rows]
    widths = [max(map(len, column)) for column in zip(table.columns, *cells, strict=True)]
    numbers = [
        any(isinstance(row[column], int | float) for row in table.rows if row[column] is not None)
        for column in range(len(table.columns))
    ]

    def line(row: Iterable[str]) -> str:
        parts = zip(row, widths, numbers, strict=True)
        return "  ".join(text.rjust(width) if number else text.ljust(width) for text, width, number in parts).rstrip()

    more = ", and there are more: raise --max-rows" if table.truncated else ""
    count = f"{counted(len(cells), 'row')}{more} ({table.seconds:.3f} s)"
    return [line(table.columns), line("─" * width for width in widths), *map(line, cells), count]


def _cell(value: JsonValue) -> str:
    text = "" if value is None else value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = text.replace("\n", "⏎")
    return text if len(text) <= MAX_CELL else text[: MAX_CELL - 1] + "…"


async def show_schema(database: ReadOnlyDatabase) -> int:
    """Print the schema."""
    print_visible("\n".join(schema_lines(await database.schema())))
    return 0


def schema_lines(schema: Schema) -> list[str]:
    """Tables and their columns as lines."""
    output: list[str] = []
    for table in schema.tables:
        rows = "" if table.rows is None else f"  {counted(table.rows, 'row')}"
        output.append(f"{table.written or table.name}{rows}{f'  {table.comment}' if table.comment else ''}")
        width = max((len(column.written or column.name) for column in table.columns), default=0)
        output += [
            f"  {(column.written or column.name).ljust(width)}  {_about(column)}".rstrip() for column in table.columns
        ]
    return output


def _about(column: ColumnInfo) -> str:
    parts = [column.type, "key" if column.key else "", f"→ {column.references}" if column.references else ""]
    samples = ", ".join(_cell(value) for value in column.samples)
    return "  ".join(part for part in (*parts, column.comment, f"e.g. {samples}" if samples else "") if part)
