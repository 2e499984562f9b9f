"""A question as a tree, before any table is chosen for it: references are candidates until the writer resolves them."""

from dataclasses import dataclass
from typing import NamedTuple

Value = str | int | float | bool


class Spot(NamedTuple):
    """A column, or several that people see as one, such as a name in two parts."""

    table: str
    columns: tuple[str, ...]


Spots = tuple[Spot, ...]
MONEY: Spots = (Spot("", ("money",)),)  # the only amount of money in the row itself
LABEL: Spots = (Spot("", ("label",)),)  # what shows which row it is


@dataclass(frozen=True)
class Filter:
    """A column compared with values. `options`: candidate columns, each with the values as that column writes them.

    `op` is in, lives, named, null, between, or an operator of SQL.
    """

    options: tuple[tuple[Spot, tuple[Value, ...]], ...]
    op: str = "in"
    negated: bool = False


@dataclass(frozen=True)
class Noun:
    """Rows of one of `tables`, each with a rank (lower is likelier); without any, of the table that has the value."""

    tables: tuple[tuple[str, int], ...] = ()
    filters: tuple["Condition", ...] = ()


@dataclass(frozen=True)
class Has:
    """Some rows of `noun` belong to this row, or none do. `via`: what the table is called that lies on the way."""

    noun: Noun
    negated: bool = False
    via: tuple[str, ...] = ()


Condition = Filter | Has


@dataclass(frozen=True)
class Measure:
    """count, sum, avg, min or max, of rows or of a column."""

    function: str = "count"
    of: Spots = ()


@dataclass(frozen=True)
class Query:
    """With a measure: a number, or one for each group. Without: a list of rows."""

    noun: Noun
    measure: Measure | None = None
    columns: tuple[Spots, ...] = ()
    groups: tuple[Spots | Noun, ...] = ()
    distinct: bool = False
    most: bool | None = None  # groups in the order of the measure: the most first, or the least
    limit: int | None = None
