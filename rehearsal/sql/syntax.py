"""The syntax tree of a question. References are candidates until a table is chosen."""

from dataclasses import dataclass
from typing import NamedTuple

Value = str | int | float | bool


class Spot(NamedTuple):
    """A column, or several that form one value for people, such as first and last name."""

    table: str
    columns: tuple[str, ...]


Spots = tuple[Spot, ...]
MONEY: Spots = (Spot("", ("money",)),)  # the row's only money column
LABEL: Spots = (Spot("", ("label",)),)  # the columns that identify the row for people


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
    """Rows of one of `tables`, each with a rank (lower is likelier); if empty, of the table that has the value."""

    tables: tuple[tuple[str, int], ...] = ()
    filters: tuple["Condition", ...] = ()


@dataclass(frozen=True)
class Has:
    """Some rows of `noun` belong to this row, or none. `via`: nouns for the table in between."""

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
class QuestionTree:
    """With a measure: a number, or one for each group. Without: a list of rows."""

    noun: Noun
    measure: Measure | None = None
    columns: tuple[Spots, ...] = ()
    groups: tuple[Spots | Noun, ...] = ()
    distinct: bool = False
    most: bool | None = None  # sort groups by the measure: True: descending, False: ascending
    limit: int | None = None
