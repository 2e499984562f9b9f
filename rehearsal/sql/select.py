"""Builds one SELECT: resolves columns from its first table, and turns conditions into SQL."""

import re
from collections.abc import Iterable

from rehearsal.sql.joins import Joins, JoinStep, Path, single
from rehearsal.sql.reader import Unclear
from rehearsal.sql.schema import Column, Table, Tables
from rehearsal.sql.synonyms import others
from rehearsal.sql.syntax import LABEL, MONEY, Condition, Filter, Has, Spot, Spots, Value
from rehearsal.sql.tokenizer import phrases

_PLAIN = re.compile(r"[a-z_][a-z0-9_]*\Z")
_RESERVED = phrases(
    "all, and, any, as, asc, between, by, case, check, column, create, cross, current, default, desc, distinct, do, "
    "else, end, except, exists, false, for, foreign, from, full, grant, group, having, in, index, inner, intersect, "
    "into, is, join, key, left, like, limit, natural, not, null, offset, on, only, or, order, outer, primary, "
    "references, returning, right, select, set, some, table, then, to, true, union, unique, update, user, using, "
    "values, when, where, window, with"
)


class Select:
    """A table, its joins and its conditions. Paths lead from the first table to another."""

    def __init__(self, tables: Tables, joins: Joins, dialect: str, table: str, outer: "Select | None" = None) -> None:
        self.tables, self.joins, self.dialect, self.table = tables, joins, dialect, table
        self.where: list[str] = []
        self._used: set[str] = outer._used if outer else set()
        self._aliases: dict[Path, str] = {(): self._new(table)}
        self._joined: list[str] = []
        self._compared: dict[str, set[Value]] = {}

    def source(self) -> str:
        lines = [f"FROM {_as(self.table, self._aliases[()])}", *self._joined]
        return "\n".join(lines + ([f"WHERE {' AND '.join(dict.fromkeys(self.where))}"] if self.where else []))

    # --- columns

    def columns(self, spots: Spots) -> list[tuple[str, str]]:
        """The expressions and names of these columns."""
        if spots == LABEL:
            return self.label()
        spot, path = self.find(spots)
        return [(f"{name(self._alias(path))}.{name(column)}", column) for column in spot.columns]

    def find(self, spots: Spots, at: Path = ()) -> tuple[Spot, Path]:
        """The column in the row itself, else in the only referenced table that has it."""
        here = self._end(at)
        spots = _special(here, spots)
        own = [spot for spot in spots if spot.table == here.name]
        if len(own) > 1:
            raise Unclear(f"“{own[0].columns[0]}” or “{own[1].columns[0]}” of {here.name} may be meant")
        matches = [(spot, at) for spot in own] or [(spot, (*at, *way)) for spot, way in self._reached(here, spots)]
        if not matches:
            raise Unclear(f"{here.name} has no such column")
        if len(matches) > 1:
            raise Unclear(f"The column of {' or of '.join(sorted({spot.table for spot, _ in matches}))} may be meant")
        return matches[0]

    def _reached(self, here: Table, spots: Spots) -> list[tuple[Spot, Path]]:
        """The columns in tables that are joined one-to-one from here."""
        ways = [(spot, self.joins.path(here.name, spot.table)) for spot in spots if spot.table != here.name]
        return [(spot, way) for spot, way in ways if way and single(way)]

    def label(self, at: Path = ()) -> list[tuple[str, str]]:
        return [(f"{name(self._alias(at))}.{name(column)}", column) for column in self._end(at).label]

    def key(self, at: Path = ()) -> list[str]:
        return [f"{name(self._alias(at))}.{name(column)}" for column in self._end(at).key]

    # --- conditions

    def add(self, conditions: Iterable[Condition], at: Path = ()) -> None:
        self.where += [
            self._filter(condition, at) if isinstance(condition, Filter) else self._has(condition, at)
            for condition in conditions
        ]

    def _filter(self, condition: Filter, at: Path) -> str:
        spots = tuple(spot for spot, _ in condition.options)
        spot, path = self.find(spots, at)
        values = next((values for option, values in condition.options if option == spot), condition.options[0][1])
        if condition.op == "lives" and path == at and self._reached(self._end(at), spots):
            raise Unclear(f"The place of {spot.table} or of what it belongs to may be meant")
        if len(spot.columns) > 1:
            raise Unclear("A name in two parts is compared with one value")
        info = self.tables.column(spot.table, spot.columns[0])
        text = f"{name(self._alias(path))}.{name(info.name)}"
        if condition.op == "null":
            if not info.nullable:
                raise Unclear(f"{info.name} is never empty")
            return f"{text} IS NOT NULL" if condition.negated else f"{text} IS NULL"
        comparison = self._comparison(condition, text, info, values)
        if condition.negated:
            return f"({text} IS NULL OR NOT ({comparison}))" if info.nullable else f"NOT ({comparison})"
        if condition.op in {"in", "lives", "named"} and self._compared.setdefault(text, set(values)) != set(values):
            raise Unclear("No row can be all of that at once")
        return comparison

    def _comparison(self, condition: Filter, text: str, info: Column, values: tuple[Value, ...]) -> str:
        written = [literal(value, self.dialect) for value in values]
        if condition.op in {"in", "lives", "named"}:
            if {True, False} <= set(values) or not all(isinstance(value, str | bool) for value in values):
                raise Unclear("That is no value of this column")
            return f"{text} = {written[0]}" if len(written) == 1 else f"{text} IN ({', '.join(written)})"
        if not info.number:
            raise Unclear(f"{info.name} holds no amounts")
        return f"{text} {'BETWEEN' if condition.op == 'between' else condition.op} {' AND '.join(written)}"

    def _has(self, has: Has, at: Path) -> str:
        path = self._way(has, self._end(at).name)
        if single(path):
            if has.negated or not has.noun.filters:
                raise Unclear("There is always one of those")
            self.add(has.noun.filters, (*at, *path))
            return self.where.pop()
        if not path[0].many:
            raise Unclear(f"{path[0].start} have none of their own")
        inner = Select(self.tables, self.joins, self.dialect, path[0].end, self)
        inner.where.append(_equal(path[0], self._alias(at), inner._aliases[()]))
        inner._alias(path[1:])
        inner.add(has.noun.filters, path[1:])
        return f"{'NOT ' if has.negated else ''}EXISTS (SELECT 1 {inner.source().replace(chr(10), ' ')})"

    def _way(self, has: Has, here: str) -> Path:
        """The join path to the related rows, through the table named by the verb."""
        ranked: list[tuple[int, int, Path]] = []
        for table, rank in candidates(has.noun.tables, has.noun.filters, self.tables, has.via):
            way = self.joins.path(here, table)
            passed = {here, *(step.end for step in way or ())}
            if way and (not has.via or any(called(self.tables[name], has.via) for name in passed)):
                ranked.append((rank, len(way), way))
        ranked.sort(key=lambda entry: entry[:2])
        if not ranked:
            raise Unclear(f"Nothing connects {here} with that")
        if len(ranked) > 1 and ranked[0][:2] == ranked[1][:2]:
            raise Unclear(f"{ranked[0][2][-1].end} or {ranked[1][2][-1].end} may be meant")
        return ranked[0][2]

    def _end(self, at: Path) -> Table:
        return self.tables[at[-1].end if at else self.table]

    def _alias(self, path: Path) -> str:
        """The alias of the table at the end of the path. Joins it if needed."""
        if path not in self._aliases:
            before, step = self._alias(path[:-1]), path[-1]
            mine = self._aliases[path] = self._new(step.end)
            optional = not step.many and any(
                self.tables.column(step.start, column).nullable for column, _ in step.pairs
            )
            how = "LEFT JOIN" if optional else "JOIN"
            self._joined.append(f"{how} {_as(step.end, mine)} ON {_equal(step, before, mine)}")
        return self._aliases[path]

    def _new(self, table: str) -> str:
        alias, number = table, 2
        while alias in self._used:
            alias, number = f"{table}_{number}", number + 1
        self._used.add(alias)
        return alias


def candidates(
    named: tuple[tuple[str, int], ...], filters: tuple[Condition, ...], tables: Tables, via: tuple[str, ...] = ()
) -> list[tuple[str, int]]:
    """The tables whose rows may be meant: those named, else those with the first value, else those of the verb."""
    first = filters[0] if filters else None
    holders = {spot.table for spot, _ in first.options} if isinstance(first, Filter) else set()
    if not filters:
        holders = {table.name for table in tables.by_name.values() if called(table, via)}
    return list(named) or [(table, 0) for table in tables.by_name if table in holders]


def called(table: Table, nouns: tuple[str, ...]) -> bool:
    """Whether one of the nouns names the table."""
    return any((noun,) in {table.words, *others(table.words)} for noun in nouns)


def name(text: str) -> str:
    return text if _PLAIN.match(text) and text not in _RESERVED else '"' + text.replace('"', '""') + '"'


def literal(value: Value, dialect: str) -> str:
    if isinstance(value, bool):
        return str(value).upper() if dialect == "postgres" else str(int(value))
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else f"{value}"


def _special(table: Table, spots: Spots) -> Spots:
    """The table's only money column, or its label, if the question names no column."""
    return (
        tuple(Spot(table.name, (column.name,)) for column in table.columns if column.money) if spots == MONEY else spots
    )


def _as(table: str, alias: str) -> str:
    return name(table) if table == alias else f"{name(table)} AS {name(alias)}"


def _equal(step: JoinStep, start: str, end: str) -> str:
    return " AND ".join(f"{name(end)}.{name(theirs)} = {name(start)}.{name(mine)}" for mine, theirs in step.pairs)
