"""Where columns are found from: the tables of one SELECT, joined as they are needed, and places within it."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from rehearsal.sql.agreement import contradiction
from rehearsal.sql.ask import Spot
from rehearsal.sql.joins import Joins, Path, Step
from rehearsal.sql.literals import name
from rehearsal.sql.tables import Column, Tables


class Unclear(Exception):
    """This reading of the question makes no sense over these tables; the message says why."""


@dataclass
class Writer:
    """One statement while it is written: the names given in it, and how far its parts had to be fetched."""

    tables: Tables
    joins: Joins
    dialect: str
    cost: float = 0.0
    used: set[str] = field(default_factory=set)

    def alias(self, table: str) -> str:
        alias, number = table, 2
        while alias in self.used:
            alias, number = f"{table}_{number}", number + 1
        self.used.add(alias)
        return alias


class Scope:
    """One SELECT: its first table, the joins from there, its conditions."""

    def __init__(self, writer: Writer, table: str) -> None:
        self.writer = writer
        self.table = table
        self.where: list[str] = []
        self._aliases: dict[Path, str] = {(): writer.alias(table)}
        self._joins: list[str] = []
        self.root = Place(self, table, ())

    def alias(self, path: Path) -> str:
        """The table at the end of the path, joined if it is not yet."""
        if path not in self._aliases:
            before, step = self.alias(path[:-1]), path[-1]
            mine = self._aliases[path] = self.writer.alias(step.end)
            loose = not step.many and any(self.writer.tables.column(step.start, one).nullable for one, _ in step.pairs)
            how = "LEFT JOIN" if loose else "JOIN"
            self._joins.append(f"{how} {_as(step.end, mine)} ON {_equal(step, before, mine)}")
        return self._aliases[path]

    def source(self) -> str:
        """FROM with all joins, and WHERE."""
        if why := contradiction(self.where):
            raise Unclear(why)
        lines = [f"FROM {_as(self.table, self._aliases[()])}", *self._joins]
        return "\n".join(lines + ([f"WHERE {' AND '.join(dict.fromkeys(self.where))}"] if self.where else []))

    @property
    def multiplied(self) -> bool:
        """Whether a row of the first table may come several times."""
        return any(step.many for path in self._aliases for step in path)


@dataclass(frozen=True)
class Place:
    """A table within a SELECT, from which other columns are reached."""

    scope: Scope
    table: str
    path: Path

    @property
    def alias(self) -> str:
        return self.scope.alias(self.path)

    @property
    def writer(self) -> Writer:
        return self.scope.writer

    def to(self, table: str) -> tuple[float, Path]:
        """The way to another table; raises Unclear if there is none."""
        found = self.writer.joins.path(self.table, table)
        if found is None:
            raise Unclear(f"nothing connects {self.table} with {table}")
        return found

    def at(self, path: Path) -> "Place":
        return Place(self.scope, path[-1].end if path else self.table, (*self.path, *path))

    def column(self, column: str) -> str:
        return f"{name(self.alias)}.{name(column)}"

    def info(self, column: str) -> Column:
        return self.writer.tables.column(self.table, column)

    def nearest(self, spots: Iterable[Spot]) -> tuple[Spot, Path]:
        """The one of these columns that is meant from here: the nearest; raises Unclear where two are as near."""
        reached = [
            (cost, spot) for spot in spots if (cost := self.writer.joins.reach(self.table, spot.table)) is not None
        ]
        if not reached:
            raise Unclear(f"{self.table} has no such column")
        least = min(cost for cost, _ in reached)
        close = [spot for cost, spot in reached if cost - least < 0.1]
        fewest = min(self.writer.joins.references(spot.table) for spot in close)
        close = [spot for spot in close if self.writer.joins.references(spot.table) == fewest]
        if len({(spot.table, spot.columns) for spot in close}) > 1:
            told = " or ".join(f"{spot.table}.{spot.columns[0]}" for spot in close)
            raise Unclear(f"it may mean {told}")
        self.writer.cost += least
        return close[0], self.to(close[0].table)[1]

    def below(self, path: Path) -> "Place":
        """A SELECT of its own, of the rows that belong to a row here, at the end of the path."""
        inner = Scope(self.writer, path[0].end)
        inner.where.append(_equal(path[0], self.alias, inner.root.alias))
        return inner.root.at(path[1:])


def repeated(path: Path) -> bool:
    """Whether the same row may be found twice at the end of this path."""
    return any(before.many and not after.many for at, before in enumerate(path) for after in path[at + 1 :])


def _as(table: str, alias: str) -> str:
    return name(table) if table == alias else f"{name(table)} AS {name(alias)}"


def _equal(step: Step, start: str, end: str) -> str:
    return " AND ".join(f"{name(end)}.{name(theirs)} = {name(start)}.{name(mine)}" for mine, theirs in step.pairs)
