"""The schema of a PostgreSQL database: what is declared and commented, and a moment's reading of the data."""

import time
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg  # type: ignore[import-untyped]

from sql.postgres_names import PgNames, quoted
from sql.schema import EXAMPLES, FEW, ColumnInfo, Schema, TableInfo, few_or_examples
from sql.values import as_json

COUNTED = 100_000  # rows as PostgreSQL estimates them, up to which it is asked to count
MOMENT = 300  # milliseconds for one table's count, one column's values
ALL_SAMPLES = 20.0  # seconds for all columns of all tables together

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


async def read_pg_schema(connection: Any, names: PgNames) -> Schema:
    """Of all listed tables."""
    tables = defaultdict(list)
    for row in await connection.fetch(_COLUMNS, quoted(names.schema)):
        if row["name"] in names.visible.get(row["table"].lower(), ()):
            tables[row["table"]].append(row)
    leads = {
        (row["table"], row["name"]): f"{row['other']}.{row['to']}"
        for row in await connection.fetch(_REFERENCES, quoted(names.schema))
        if row["to"] in names.visible.get(row["other"].lower(), ())
    }
    until = time.monotonic() + ALL_SAMPLES
    found = [await _table(connection, names, rows, leads, until) for _, rows in sorted(tables.items())]
    return Schema(dialect="postgres", tables=tuple(found))


async def _table(
    connection: Any, names: PgNames, columns: list[Any], leads: dict[tuple[str, str], str], until: float
) -> TableInfo:
    first = columns[0]
    table = f"{quoted(names.schema)}.{quoted(first['table'])}"
    rows = await _count(connection, table, first)
    found = []
    for one in columns:
        samples = await _samples(connection, table, one, rows) if rows != 0 and time.monotonic() < until else ()
        found.append(
            ColumnInfo(
                name=one["name"],
                type=one["type"],
                nullable=one["nullable"],
                key=one["key"],
                references=leads.get((one["table"], one["name"])),
                comment=one["comment"],
                samples=samples,
            )
        )
    return TableInfo(name=first["table"], comment=first["about"], rows=rows, columns=tuple(found))


async def _count(connection: Any, table: str, about: Any) -> int | None:
    """Exact where it is cheap, else PostgreSQL's own estimate (-1: it has none)."""
    if about["rows"] > COUNTED:
        return int(about["rows"])
    counted = [row["count"] async for row in _try(connection, f"SELECT count(*) FROM {table}")]  # noqa: S608
    return counted[0] if counted else None


async def _samples(connection: Any, table: str, column: Any, rows: int | None) -> tuple[Any, ...]:
    name = quoted(column["name"])
    having = f"FROM {table} WHERE {name} IS NOT NULL"
    if column["is_text"] and rows is not None and rows <= COUNTED * 10:
        query = f"SELECT DISTINCT {name}::text AS value {having} LIMIT {FEW + 1}"
        if found := [row["value"] async for row in _try(connection, query)]:
            return few_or_examples([as_json(value) for value in found], complete=True)
    query = f"SELECT DISTINCT value FROM (SELECT {name} AS value {having} LIMIT {EXAMPLES * 5}) AS some"  # noqa: S608
    if not column["is_text"]:  # not every type can be compared
        query = f"SELECT {name} AS value {having} LIMIT {EXAMPLES}"
    found = [row["value"] async for row in _try(connection, query)]
    return few_or_examples([as_json(value) for value in found], complete=False)


async def _try(connection: Any, query: str) -> AsyncIterator[Any]:
    """Its rows; none when it takes longer than a moment, or cannot be answered."""
    try:
        async with _moment(connection):
            rows = await connection.fetch(query)
    except asyncpg.PostgresError:
        return
    for row in rows:
        yield row


@asynccontextmanager
async def _moment(connection: Any) -> AsyncIterator[None]:
    async with connection.transaction():  # a savepoint: the setting ends with it, and so does a failure
        await connection.execute(f"SET LOCAL statement_timeout = {MOMENT}")
        yield
        await connection.execute("SET LOCAL statement_timeout TO DEFAULT")
