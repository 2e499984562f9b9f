"""What the projection does to the rows: the three kinds of change."""

from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Table, Update, bindparam, update

Values = dict[str, Any]


class Put(NamedTuple):
    """Insert a row, or overwrite the one with its key."""

    table: Table
    values: Values


class Patch(NamedTuple):
    """Change columns of the rows that the statement is about; its own parameters are among the values."""

    statement: Update
    values: Values


class Remove(NamedTuple):
    """Delete the rows that match."""

    table: Table
    where: ColumnElement[bool]


Change = Put | Patch | Remove


def patch(table: Table, key: Values, values: Values) -> Patch:
    """Change columns of the rows with these values. The statement is made once: that takes longer than to run it."""
    return Patch(_update(table, tuple(key)), values | {f"key_{name}": value for name, value in key.items()})


@cache
def _update(table: Table, names: tuple[str, ...]) -> Update:
    return update(table).where(*(table.c[name] == bindparam(f"key_{name}") for name in names))
