"""The three kinds of change that the projection makes to rows."""

from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Table, Update, bindparam, or_, update

Values = dict[str, Any]


class Upsert(NamedTuple):
    """Insert a row, or overwrite the row with the same primary key."""

    table: Table
    values: Values


class RowUpdate(NamedTuple):
    """Run an UPDATE statement. `values` has the new columns and the statement's own parameters."""

    statement: Update
    values: Values


class Delete(NamedTuple):
    """Delete the rows that match."""

    table: Table
    where: ColumnElement[bool]


RowChange = Upsert | RowUpdate | Delete


def update_rows(table: Table, key: Values, values: Values, *, only: tuple[str, ...] = ()) -> RowUpdate:
    """Update columns of the rows that match `key`; with `only`, those in one of these statuses.

    The statement is cached: composing it takes longer than running it.
    """
    return RowUpdate(_update(table, tuple(key), only), values | {f"key_{name}": value for name, value in key.items()})


@cache
def _update(table: Table, names: tuple[str, ...], statuses: tuple[str, ...]) -> Update:
    statement = update(table).where(*(table.c[name] == bindparam(f"key_{name}") for name in names))
    # No IN: such a statement cannot be executed for many rows at once.
    return statement.where(or_(*(table.c.status == status for status in statuses))) if statuses else statement
