"""Reads the schema of a PostgreSQL database: declarations, comments, row counts and sample values."""

import time
from collections import defaultdict
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import asyncpg  # type: ignore[import-untyped]

from sql.json_rows import as_json
from sql.postgres_names import PgNames
from sql.schema import MAX_DISTINCT, MAX_EXAMPLES, ColumnInfo, Schema, TableInfo, choose_samples
from sql.spelling import quoted

MAX_COUNTED = 100_000  # estimated rows up to which they are counted
SAMPLE_TIMEOUT_MS = 300  # per table count and per column sample
ALL_SAMPLES_TIMEOUT = 20.0  # seconds for all columns of all tables

_COLUMNS = """
SELECT c.relname AS table, a.attname AS name, format_type(a.atttypid, a.atttypmod) AS type,
    NOT a.attnotnull AS nullable, coalesce(col_description(c.oid, a.attnum), '') AS comment,
    coalesce(obj_description(c.oid, 'pg_class'), '') AS about, c.reltuples::bigint AS rows,
    t.typcategory IN ('S', 'E') AS is_text,
    EXISTS (SELECT FROM pg_catalog.pg_constraint k WHERE k.conrelid = c.oid AND k.contype = 'p'
        AND a.attnum = ANY (k.conkey)) AS key
FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid
JOIN pg_catalog.pg_type t ON t.oid = a.atttypid
WHERE c.relnamespace = $1::text::regnamespace AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY c.relname, a.attnum
"""
_REFERENCES = """
SELECT c.relname AS table, a.attname AS name, o.relname AS other, b.attname AS to
FROM pg_catalog.pg_constraint k
JOIN pg_catalog.pg_class c ON c.oid = k.conrelid JOIN pg_catalog.pg_class o ON o.oid = k.confrelid
CROSS JOIN unnest(k.conkey, k.confkey) AS pair (mine, theirs)
JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid AND a.attnum = pair.mine
JOIN pg_catalog.pg_attribute b ON b.attrelid = o.oid AND b.attnum = pair.theirs
WHERE k.contype = 'f' AND c.relnamespace = $1::text::regnamespace AND o.relnamespace = c.relnamespace
ORDER BY k.conname
"""


async def read_pg_schema(connection: Any, first: PgNames, others: Sequence[PgNames]) -> Schema:
    """The schema of all listed tables: those of the schema that is read first, and of the other ones."""
    until = time.monotonic() + ALL_SAMPLES_TIMEOUT
    tables = await _tables(connection, first, until)
    for names in others:
        for table in await _tables(connection, names, until):
            written = f"{names.spell(names.schema)}.{table.written or table.name}"
            name = f"{names.schema}.{table.name}"
            tables.append(table.model_copy(update={"name": name, "written": written if written != name else ""}))
    return Schema(dialect="postgres", tables=tuple(tables))


async def _tables(connection: Any, names: PgNames, until: float) -> list[TableInfo]:
    tables = defaultdict(list)
    for row in await connection.fetch(_COLUMNS, quoted(names.schema)):
        if row["name"] in names.visible.get(row["table"].lower(), ()):
            tables[row["table"]].append(row)
    references = {
        (row["table"], row["name"]): f"{row['other']}.{row['to']}"
        for row in await connection.fetch(_REFERENCES, quoted(names.schema))
        if row["to"] in names.visible.get(row["other"].lower(), ())
    }
    return [await _table(connection, names, rows, references, until) for _, rows in sorted(tables.items())]


async def _table(
    connection: Any, names: PgNames, columns: list[Any], references: dict[tuple[str, str], str], until: float
) -> TableInfo:
    first = columns[0]
    table = f"{quoted(names.schema)}.{quoted(first['table'])}"
    rows = await _count(connection, table, first)
    column_infos = []
    for column in columns:
        samples = await _samples(connection, table, column, rows) if rows != 0 and time.monotonic() < until else ()
        column_infos.append(
            ColumnInfo(
                name=column["name"],
                written=names.spell.other_than(column["name"]),
                type=column["type"],
                nullable=column["nullable"],
                key=column["key"],
                references=references.get((column["table"], column["name"])),
                comment=column["comment"],
                samples=samples,
            )
        )
    return TableInfo(
        name=first["table"],
        written=names.spell.other_than(first["table"]),
        comment=first["about"],
        rows=rows,
        columns=tuple(column_infos),
    )


async def _count(connection: Any, table: str, about: Any) -> int | None:
    """The row count: exact for small tables, otherwise PostgreSQL's estimate (-1: none)."""
    if about["rows"] > MAX_COUNTED:
        return int(about["rows"])
    counted = [row["count"] async for row in _try(connection, f"SELECT count(*) FROM {table}")]  # noqa: S608
    return counted[0] if counted else None


async def _samples(connection: Any, table: str, column: Any, rows: int | None) -> tuple[Any, ...]:
    name = quoted(column["name"])
    having = f"FROM {table} WHERE {name} IS NOT NULL"
    if column["is_text"] and rows is not None and rows <= MAX_COUNTED * 10:
        query = f"SELECT DISTINCT {name}::text AS value {having} LIMIT {MAX_DISTINCT + 1}"
        if values := [row["value"] async for row in _try(connection, query)]:
            return choose_samples([as_json(value) for value in values], complete=True)
    query = f"SELECT DISTINCT value FROM (SELECT {name} AS value {having} LIMIT {MAX_EXAMPLES * 5}) AS some"  # noqa: S608
    if not column["is_text"]:  # not every type is comparable
        query = f"SELECT {name} AS value {having} LIMIT {MAX_EXAMPLES}"
    values = [row["value"] async for row in _try(connection, query)]
    return choose_samples([as_json(value) for value in values], complete=False)


async def _try(connection: Any, query: str) -> AsyncIterator[Any]:
    """The rows of a query; none if it fails or exceeds the timeout."""
    try:
        async with _short_timeout(connection):
            rows = await connection.fetch(query)
    except asyncpg.PostgresError:
        return
    for row in rows:
        yield row


@asynccontextmanager
async def _short_timeout(connection: Any) -> AsyncIterator[None]:
    async with connection.transaction():  # a savepoint limits the setting, and a failure, to this query
        await connection.execute(f"SET LOCAL statement_timeout = {SAMPLE_TIMEOUT_MS}")
        yield
        await connection.execute("SET LOCAL statement_timeout TO DEFAULT")
