"""What the projection does to the rows: the three kinds of change."""

from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Table, Update, bindparam, or_, update

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


def patch(table: Table, key: Values, values: Values, *, only: tuple[str, ...] = ()) -> Patch:
    """Change columns of the rows with these values; `only` those in one of these statuses.

    The statement is made once: that takes longer than to run it.
    """
    return Patch(_update(table, tuple(key), only), values | {f"key_{name}": value for name, value in key.items()})


@cache
def _update(table: Table, names: tuple[str, ...], statuses: tuple[str, ...]) -> Update:
    statement = update(table).where(*(table.c[name] == bindparam(f"key_{name}") for name in names))
    # No IN: a statement with one cannot be run for many rows at once.
    return statement.where(or_(*(table.c.status == status for status in statuses))) if statuses else statement
