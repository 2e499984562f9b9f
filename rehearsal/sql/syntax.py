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
DATE: Spots = (Spot("", ("date",)),)  # the only date of the row itself


@dataclass(frozen=True)
class Filter:
    """A column compared with values. `options`: candidate columns, each with the values as that column writes them.

    `op` is in, null, like, date (from, and before; empty if open), between, or an operator of SQL.
    """

    options: tuple[tuple[Spot, tuple[Value, ...]], ...]
    op: str = "in"
    negated: bool = False


@dataclass(frozen=True)
class Noun:
    """Rows of one of `tables`, each with a rank (lower is likelier); without any, of the table that a filter names."""

    tables: tuple[tuple[str, int], ...] = ()
    filters: tuple["Condition", ...] = ()
    via: tuple[str, ...] = ()  # without tables: the nouns of what was done


@dataclass(frozen=True)
class Has:
    """So many rows of `noun` belong to this row. `via`: the nouns of the table that must lie on the way."""

    noun: Noun
    op: str = ">="
    count: int = 1
    via: tuple[str, ...] = ()

    @property
    def none(self) -> bool:
        return (self.op, self.count) in {("=", 0), ("<", 1)}


Condition = Filter | Has


@dataclass(frozen=True)
class Measure:
    """count, sum, avg, min or max, of rows or of a column."""

    function: str = "count"
    of: Spots = ()


@dataclass(frozen=True)
class Query:
    """With measures: numbers, by groups if there are any. Without: a list of rows."""

    noun: Noun
    measures: tuple[Measure, ...] = ()
    columns: tuple[Spots, ...] = ()
    groups: tuple[Spots | Noun, ...] = ()
    unit: str = ""  # groups by the month or the year of the only date
    distinct: bool = False
    having: tuple[str, tuple[Value, ...]] | None = None
    share: tuple[Condition, ...] = ()
    order: tuple[Spots, bool] | None = None  # by columns, or (empty) by the measure; True is descending
    limit: int | None = None
