"""The schema of an SQLite file: what is declared, and as much of the data as a moment's reading tells."""

import sqlite3
from contextlib import suppress
from dataclasses import dataclass

from pydantic import JsonValue

from sql.outcome import QueryFailed
from sql.schema import EXAMPLES, FEW, ColumnInfo, Schema, TableInfo, few_or_examples
from sql.sqlite import Reader
from sql.sqlite_names import Names, quoted
from sql.values import as_json

COUNTING = 0.3  # seconds for the rows of one table
SAMPLING = 0.1  # seconds for the values of one column


@dataclass(frozen=True)
class _Declared:
    name: str
    type: str
    nullable: bool
    key: bool


def read_schema(reader: Reader) -> Schema:
    """Of all listed tables. Raises QueryFailed."""
    with reader.within(SAMPLING):
        names = reader.names()
    tables = [_table(reader, names, names.real[name]) for name in sorted(names.listed)]
    return Schema(dialect="sqlite", tables=tuple(tables))


def _table(reader: Reader, names: Names, name: str) -> TableInfo:
    rows: int | None = None
    with suppress(QueryFailed), reader.within(COUNTING):
        rows = reader.connection.execute(f"SELECT count(*) FROM {quoted(name)}").fetchone()[0]  # noqa: S608
    visible = set(names.visible[name.lower()])
    leads = {one: to for one, to in _references(reader.connection, names, name).items() if one in visible}
    columns = []
    for one in _declared(reader.connection, name):
        if one.name not in visible:
            continue
        columns.append(
            ColumnInfo(
                name=one.name,
                type=one.type,
                nullable=one.nullable,
                key=one.key,
                references=leads.get(one.name),
                samples=() if rows == 0 else _samples(reader, name, one),
            )
        )
    return TableInfo(name=name, rows=rows, columns=tuple(columns))


def _declared(connection: sqlite3.Connection, table: str) -> list[_Declared]:
    rows = connection.execute('SELECT name, type, "notnull", pk FROM pragma_table_xinfo(?) WHERE hidden <> 1', (table,))
    return [
        _Declared(name, kind.upper(), nullable=not (notnull or pk), key=bool(pk)) for name, kind, notnull, pk in rows
    ]


def _references(connection: sqlite3.Connection, names: Names, table: str) -> dict[str, str]:
    """Where foreign keys lead, to columns that may be seen. A key that names no column means the other's key."""
    rows = connection.execute('SELECT "from", "table", "to" FROM pragma_foreign_key_list(?) ORDER BY id, seq', (table,))
    found: dict[str, str] = {}
    for column, other, to in rows.fetchall():
        seen = {name.lower(): name for name in names.visible.get(other.lower(), ())}
        target = (to or "").lower()
        if to is None and seen:
            keys = [one.name.lower() for one in _declared(connection, other) if one.key]
            target = keys[0] if len(keys) == 1 else ""
        if target in seen:
            mine = next((one for one in names.visible[table.lower()] if one.lower() == column.lower()), column)
            found[mine] = f"{names.real[other.lower()]}.{seen[target]}"
    return found


def _samples(reader: Reader, table: str, column: _Declared) -> tuple[JsonValue, ...]:
    """All values of a text column that has few, else some."""
    name, source = quoted(column.name), quoted(table)
    query = f"SELECT DISTINCT {name} FROM {source} WHERE {name} IS NOT NULL LIMIT ?"  # noqa: S608
    some: list[JsonValue] = []
    complete = False
    with suppress(QueryFailed), reader.within(SAMPLING):
        for (value,) in reader.connection.execute(query, (FEW + 1 if _is_text(column.type) else EXAMPLES,)):
            some.append(as_json(value))
        complete = _is_text(column.type)
    return few_or_examples(some, complete=complete)


def _is_text(declared: str) -> bool:
    """SQLite's own rule for text; a column without a type may hold some."""
    return not declared or any(word in declared for word in ("CHAR", "CLOB", "TEXT", "STRING"))
