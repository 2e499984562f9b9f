"""What a question asks for, before it is SQL: nouns with conditions, measures, groups, an order."""

from dataclasses import dataclass
from typing import NamedTuple

Value = str | int | float | bool


class Spot(NamedTuple):
    """A column, or several that are one thing to people, such as a name in two parts."""

    table: str
    columns: tuple[str, ...]


Option = tuple[Spot, tuple[Value, ...]]  # where a value may stand, and how it is written there


@dataclass(frozen=True)
class Match:
    """One of `values` (each with the columns it may stand in) is what the row has."""

    values: tuple[tuple[Option, ...], ...]
    every: bool = False  # joined by "and": each of them, where a row may have several
    sure: bool = True  # a capital that only begins a sentence makes no name
    sent: bool = False  # where something goes to: no place where people live
    foreign: bool = False  # a name of something else than the row itself
    lives: bool = False  # where somebody lives: no place of things


@dataclass(frozen=True)
class Compare:
    """A column against numbers or days; `between` takes two."""

    spots: tuple[Spot, ...]
    op: str
    values: tuple[Value, ...]
    own: bool = False  # an amount without a name is one of the row itself


@dataclass(frozen=True)
class Blank:
    """The column holds nothing; or, `filled`, holds something."""

    spots: tuple[Spot, ...]
    filled: bool = False


@dataclass(frozen=True)
class Related:
    """There are so many rows of `noun` that belong to this one."""

    noun: "Noun"
    op: str = ">="
    values: tuple[Value, ...] = (1,)
    rows: bool = False  # how often it was done: rows on the way there are counted

    @property
    def exists(self) -> bool:
        return (self.op, self.values) == (">=", (1,))

    @property
    def none(self) -> bool:
        return (self.op, self.values) == ("=", (0,))


@dataclass(frozen=True)
class Sums:
    """A measure over the rows that belong to this one, against a number."""

    measure: "Measure"
    op: str
    values: tuple[Value, ...]


@dataclass(frozen=True)
class Several:
    parts: tuple["Condition", ...]
    either: bool = False


@dataclass(frozen=True)
class Not:
    part: "Condition"


Condition = Match | Compare | Blank | Related | Sums | Several | Not


@dataclass(frozen=True)
class Measure:
    """count, sum, avg, min, max; of a noun's rows, or of a column that belongs to them."""

    function: str
    noun: "Noun | None" = None
    spots: tuple[Spot, ...] = ()
    distinct: bool = False
    rows: bool = False  # how often something was done: rows on the way there are counted
    per: "Noun | None" = None  # an average of numbers of rows: so many for each of these


@dataclass(frozen=True)
class Best:
    """An order: by a column of the row or by a measure of what belongs to it."""

    by: Measure | tuple[Spot, ...]
    descending: bool = True
    limit: int | None = None


@dataclass(frozen=True)
class Noun:
    """Rows of one table."""

    table: str
    conditions: tuple[Condition, ...] = ()
    best: Best | None = None
    value: bool = False  # named by one of its values alone: "refunds"

    def having(self, *conditions: Condition) -> "Noun":
        return Noun(self.table, (*self.conditions, *conditions), self.best, self.value)


@dataclass(frozen=True)
class Period:
    """A group by time: the days of a column by month or year."""

    unit: str
    spots: tuple[Spot, ...] = ()


Group = tuple[Spot, ...] | Noun | Period


@dataclass(frozen=True)
class Ask:
    """The whole question. With measures: numbers, by groups if there are any; else a list of the noun's rows."""

    noun: Noun
    measures: tuple[Measure, ...] = ()
    groups: tuple[Group, ...] = ()
    columns: tuple[tuple[Spot, ...], ...] = ()
    extra: tuple[Measure, ...] = ()  # shown beside each row of a list
    distinct: bool = False
    order: Best | None = None  # of groups: by the measure; of a list: as it says
    share: Condition | None = None
    portion: bool = False  # of all rows, in groups
    having: tuple[str, tuple[Value, ...]] | None = None
    limit: int | None = None
    guessed: bool = False  # the rows are not named in the question
