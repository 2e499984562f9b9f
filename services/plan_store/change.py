"""What the projection does to the rows: the three kinds of change."""

from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Table

Values = dict[str, Any]


class Put(NamedTuple):
    """Insert a row, or overwrite the one with its key."""

    table: Table
    values: Values


class Patch(NamedTuple):
    """Change columns of the rows that match."""

    table: Table
    where: ColumnElement[bool]
    values: Values


class Remove(NamedTuple):
    """Delete the rows that match."""

    table: Table
    where: ColumnElement[bool]


Change = Put | Patch | Remove
