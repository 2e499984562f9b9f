"""Reads the schema of an SQLite file: declarations, row counts and sample values."""

import sqlite3
from contextlib import suppress
from dataclasses import dataclass

from pydantic import JsonValue

from sql.json_rows import as_json
from sql.outcome import QueryFailed
from sql.schema import MAX_DISTINCT, MAX_EXAMPLES, ColumnInfo, Schema, TableInfo, choose_samples
from sql.spelling import quoted
from sql.sqlite import SPELLING, SqliteReader
from sql.sqlite_names import SqliteNames

NAMES_TIMEOUT = 30.0  # seconds for the names of all tables
COUNT_TIMEOUT = 0.3  # seconds per table
SAMPLE_TIMEOUT = 0.1  # seconds per column


@dataclass(frozen=True)
class _Declared:
    name: str
    type: str
    nullable: bool
    key: bool


def read_schema(reader: SqliteReader) -> Schema:
    """The schema of all listed tables. Raises QueryFailed."""
    with reader.within(NAMES_TIMEOUT):
        names = reader.names()
    tables = [_table(reader, names, names.spelling[name]) for name in sorted(names.listed)]
    return Schema(dialect="sqlite", tables=tuple(tables))


def _table(reader: SqliteReader, names: SqliteNames, name: str) -> TableInfo:
    rows: int | None = None
    with suppress(QueryFailed), reader.within(COUNT_TIMEOUT):
        rows = reader.connection.execute(f"SELECT count(*) FROM {quoted(name)}").fetchone()[0]  # noqa: S608
    visible = set(names.visible[name.lower()])
    references = {column: to for column, to in _references(reader.connection, names, name).items() if column in visible}
    columns = []
    for column in _declared(reader.connection, name):
        if column.name not in visible:
            continue
        columns.append(
            ColumnInfo(
                name=column.name,
                written=SPELLING.other_than(column.name),
                type=column.type,
                nullable=column.nullable,
                key=column.key,
                references=references.get(column.name),
                samples=() if rows == 0 else _samples(reader, name, column),
            )
        )
    return TableInfo(name=name, written=SPELLING.other_than(name), rows=rows, columns=tuple(columns))


def _declared(connection: sqlite3.Connection, table: str) -> list[_Declared]:
    rows = connection.execute('SELECT name, type, "notnull", pk FROM pragma_table_xinfo(?) WHERE hidden <> 1', (table,))
    return [
        _Declared(name, kind.upper(), nullable=not (notnull or pk), key=bool(pk)) for name, kind, notnull, pk in rows
    ]


def _references(connection: sqlite3.Connection, names: SqliteNames, table: str) -> dict[str, str]:
    """Foreign keys to visible columns. One that names no column refers to the other table's primary key."""
    rows = connection.execute('SELECT "from", "table", "to" FROM pragma_foreign_key_list(?) ORDER BY id, seq', (table,))
    references: dict[str, str] = {}
    for column, other, to in rows.fetchall():
        visible = {name.lower(): name for name in names.visible.get(other.lower(), ())}
        target = (to or "").lower()
        if to is None and visible:
            keys = [column_info.name.lower() for column_info in _declared(connection, other) if column_info.key]
            target = keys[0] if len(keys) == 1 else ""
        if target in visible:
            spelling = next(
                (column_info for column_info in names.visible[table.lower()] if column_info.lower() == column.lower()),
                column,
            )
            references[spelling] = f"{names.spelling[other.lower()]}.{visible[target]}"
    return references


def _samples(reader: SqliteReader, table: str, column: _Declared) -> tuple[JsonValue, ...]:
    """All values of a text column with few values, otherwise some."""
    name, source = quoted(column.name), quoted(table)
    query = f"SELECT DISTINCT {name} FROM {source} WHERE {name} IS NOT NULL LIMIT ?"  # noqa: S608
    some: list[JsonValue] = []
    complete = False
    with suppress(QueryFailed), reader.within(SAMPLE_TIMEOUT):
        for (value,) in reader.connection.execute(
            query, (MAX_DISTINCT + 1 if _is_text(column.type) else MAX_EXAMPLES,)
        ):
            some.append(as_json(value))
        complete = _is_text(column.type)
    return choose_samples(some, complete=complete)


def _is_text(declared: str) -> bool:
    """Whether the declared type may hold text, by SQLite's affinity rules."""
    return not declared or any(word in declared for word in ("CHAR", "CLOB", "TEXT", "STRING"))
