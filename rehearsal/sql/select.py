"""One SELECT while it is written: columns are found from its first table, and conditions become SQL."""

import re
from collections.abc import Iterable

from rehearsal.sql.joins import Joins, Path, Step, single
from rehearsal.sql.reader import Unclear
from rehearsal.sql.synonyms import VERBS, others
from rehearsal.sql.syntax import DATE, LABEL, MONEY, Condition, Filter, Has, Noun, Spot, Spots, Value
from rehearsal.sql.tables import Column, Table, Tables
from rehearsal.sql.words import phrases, split, stem

_PLAIN = re.compile(r"[a-z_][a-z0-9_]*\Z")
_RESERVED = phrases(
    "all, and, any, as, asc, between, by, case, check, column, create, cross, current, default, desc, distinct, "
    "do, else, end, except, exists, false, for, foreign, from, full, grant, group, having, in, index, inner, "
    "intersect, into, is, join, key, left, like, limit, natural, not, null, offset, on, only, or, order, outer, "
    "primary, references, returning, right, select, set, some, table, then, to, true, union, unique, update, "
    "user, using, values, when, where, window, with"
)


class Select:
    """A table, what is joined to it, and its conditions. Paths lead from the first table to another."""

    def __init__(self, tables: Tables, joins: Joins, dialect: str, table: str, outer: "Select | None" = None) -> None:
        self.tables, self.joins, self.dialect, self.table = tables, joins, dialect, table
        self.cost = 0.0
        self.where: list[str] = []
        self._used: set[str] = outer._used if outer else set()
        self._aliases: dict[Path, str] = {(): self._new(table)}
        self._joined: list[str] = []
        self._allowed: dict[str, set[Value]] = {}

    def source(self) -> str:
        lines = [f"FROM {_as(self.table, self._aliases[()])}", *self._joined]
        return "\n".join(lines + ([f"WHERE {' AND '.join(dict.fromkeys(self.where))}"] if self.where else []))

    # --- columns

    def columns(self, spots: Spots, at: Path = ()) -> list[tuple[str, str]]:
        """Expression and name of the columns that are meant."""
        if spots == LABEL:
            return self.label(at)
        spot, path = self.find(spots, at)
        return [(f"{name(self._alias(path))}.{name(column)}", column) for column in spot.columns]

    def column(self, spots: Spots, at: Path = ()) -> tuple[str, Column]:
        found = self.columns(spots, at)
        if len(found) > 1:
            raise Unclear("A name in two parts is no single column")
        spot, _ = self.find(spots, at)
        return found[0][0], self.tables.column(spot.table, spot.columns[0])

    def find(self, spots: Spots, at: Path = ()) -> tuple[Spot, Path]:
        """The column of the row itself; else of the only table that it points at and that has one."""
        here = at[-1].end if at else self.table
        spots = _special(self.tables[here], spots)
        own = [spot for spot in spots if spot.table == here]
        if len(own) > 1:
            raise Unclear(f"“{own[0].columns[0]}” or “{own[1].columns[0]}” of {here} may be meant")
        if own:
            return own[0], at
        reached = []
        for spot in spots:
            found = self.joins.path(here, spot.table)
            if found and single(found[1]):
                reached.append((found[0], spot, found[1]))
        if not reached:
            raise Unclear(f"{here} has no such column")
        if len({spot for _, spot, _ in reached}) > 1:
            raise Unclear(
                f"The column of {' or of '.join(sorted({spot.table for _, spot, _ in reached}))} may be meant"
            )
        self.cost += reached[0][0]
        return reached[0][1], (*at, *reached[0][2])

    def label(self, at: Path = ()) -> list[tuple[str, str]]:
        return [(f"{name(self._alias(at))}.{name(one)}", one) for one in self._table(at).label]

    def key(self, at: Path = ()) -> list[str]:
        return [f"{name(self._alias(at))}.{name(one)}" for one in self._table(at).key]

    # --- conditions

    def add(self, conditions: Iterable[Condition], at: Path = ()) -> None:
        self.where += [self.condition(one, at) for one in conditions]

    def condition(self, condition: Condition, at: Path = ()) -> str:
        if isinstance(condition, Filter):
            return self._filter(condition, at)
        return self._has(condition, at)

    def _filter(self, one: Filter, at: Path) -> str:
        spot, path = self.find(tuple(spot for spot, _ in one.options), at)
        values = next((values for option, values in one.options if option == spot), one.options[0][1])
        if one.op == "lives" and path == at:
            self._only_place(tuple(spot for spot, _ in one.options), at)
        expressions = [f"{name(self._alias(path))}.{name(column)}" for column in spot.columns]
        text, info = expressions[0], self.tables.column(spot.table, spot.columns[0])
        if len(expressions) > 1:
            raise Unclear("A name in two parts is compared with one value")
        if one.op in {"in", "lives", "named"}:
            self._agree(text, set(values), negated=one.negated)
        found = self._compared(one, text, info, values)
        if one.negated and one.op != "null":
            return f"({text} IS NULL OR NOT ({found}))" if info.nullable else f"NOT ({found})"
        return found

    def _compared(self, one: Filter, text: str, info: Column, values: tuple[Value, ...]) -> str:
        written = [literal(value, self.dialect) for value in values]
        match one.op:
            case "in" | "lives" | "named":
                if not all(isinstance(value, str | bool) for value in values):
                    raise Unclear("a number is no value of this column")
                return f"{text} = {written[0]}" if len(written) == 1 else f"{text} IN ({', '.join(written)})"
            case "null":
                if not info.nullable:
                    raise Unclear(f"{info.name} is never empty")
                return f"{text} IS NOT NULL" if one.negated else f"{text} IS NULL"
            case "like":
                return f"LOWER({text}) LIKE {literal(f'%{str(values[0]).lower()}%', self.dialect)}"
            case "date":
                if not info.date:
                    raise Unclear(f"{info.name} holds no dates")
                sides = [f"{text} {op} {side}" for op, side in zip((">=", "<"), written, strict=True) if side != "''"]
                return " AND ".join(sides)
            case _:
                if not info.number:
                    raise Unclear(f"{info.name} holds no amounts")
                return (
                    f"{text} BETWEEN {written[0]} AND {written[1]}"
                    if one.op == "between"
                    else f"{text} {one.op} {written[0]}"
                )

    def _only_place(self, spots: Spots, at: Path) -> None:
        """Where somebody lives is no place of their orders."""
        here = at[-1].end if at else self.table
        for spot in spots:
            found = self.joins.path(here, spot.table)
            if spot.table != here and found and single(found[1]):
                raise Unclear(f"The place of {here} or of {spot.table} may be meant")

    def _agree(self, text: str, values: set[Value], *, negated: bool) -> None:
        """No row has two values of one column."""
        before = self._allowed.get(text)
        if negated and before is None:
            return
        left = before - values if before is not None and negated else values if before is None else before & values
        if not left or {True, False} <= values:
            raise Unclear("No row can be all of that at once")
        self._allowed[text] = left

    def _has(self, has: Has, at: Path) -> str:
        table, path = self._nearest(has, at[-1].end if at else self.table)
        if single(path):
            if (has.op, has.count) not in {(">=", 1), ("=", 0)}:
                raise Unclear(f"There is never more than one of {table}")
            parts = [self.condition(one, (*at, *path)) for one in has.noun.filters]
            if has.none and not parts:
                raise Unclear(f"There is always one of {table}")
            text = " AND ".join(parts) or "1 = 1"
            return f"NOT ({text})" if has.none else text
        if not path[0].many:
            raise Unclear(f"{path[0].start} have no {table} of their own")
        first = 0
        outer = self._alias((*at, *path[:first]))
        inner = Select(self.tables, self.joins, self.dialect, path[first].end, self)
        inner.where.append(_equal(path[first], outer, inner._aliases[()]))
        rest = path[first + 1 :]
        inner._alias(rest)
        inner.add(has.noun.filters, rest)
        self.cost += inner.cost
        source = inner.source().replace("\n", " ")
        if has.none or (has.op, has.count) == (">=", 1):
            return f"{'NOT ' if has.none else ''}EXISTS (SELECT 1 {source})"
        if not all(step.many for step in path):
            raise Unclear(f"the same one of {table} may be counted twice")
        return f"(SELECT COUNT(*) {source}) {has.op} {has.count}"

    def _nearest(self, has: Has, here: str) -> tuple[str, Path]:
        """The table of the rows that belong to a row here, and the way there past what was done."""
        found = []
        for table, rank in candidates(has.noun, self.tables):
            way = self.joins.path(here, table)
            passed = {here, table} | {step.end for step in way[1]} if way else set()
            if way and (not has.via or any(called(self.tables[one], has.via) for one in passed)):
                found.append((way[0] + 0.4 * rank, table, way[1]))
        found.sort(key=lambda one: one[0])
        if not found:
            raise Unclear(f"nothing connects {here} with that")
        if len(found) > 1 and found[1][0] - found[0][0] < 0.1:
            raise Unclear(f"{found[0][1]} or {found[1][1]} may be meant")
        if not found[0][2] and has.noun.tables:
            raise Unclear(f"{here} of {here}")
        self.cost += found[0][0]
        return found[0][1], found[0][2]

    def _table(self, at: Path) -> Table:
        return self.tables[at[-1].end if at else self.table]

    def _alias(self, path: Path) -> str:
        """The table at the end of the path, joined if it is not yet."""
        if path not in self._aliases:
            before, step = self._alias(path[:-1]), path[-1]
            mine = self._aliases[path] = self._new(step.end)
            optional = not step.many and any(self.tables.column(step.start, one).nullable for one, _ in step.pairs)
            how = "LEFT JOIN" if optional else "JOIN"
            self._joined.append(f"{how} {_as(step.end, mine)} ON {_equal(step, before, mine)}")
        return self._aliases[path]

    def _new(self, table: str) -> str:
        alias, number = table, 2
        while alias in self._used:
            alias, number = f"{table}_{number}", number + 1
        self._used.add(alias)
        return alias


def candidates(noun: Noun, tables: Tables) -> list[tuple[str, int]]:
    """The tables whose rows the noun may stand for."""
    if noun.tables:
        return list(noun.tables)
    first = noun.filters[0] if noun.filters else None
    holders = {spot.table for spot, _ in first.options} if isinstance(first, Filter) else set()
    return [(table, 0) for table in tables.by_name if table in holders] or [
        (table.name, 0) for table in tables.by_name.values() if called(table, noun.via)
    ]


def called(table: Table, nouns: tuple[str, ...]) -> bool:
    """True if the table, or a value of it, is called by one of the nouns."""
    names = {table.words, *others(table.words)}
    return any((noun,) in names for noun in nouns)


def name(text: str) -> str:
    return text if _PLAIN.match(text) and text not in _RESERVED else '"' + text.replace('"', '""') + '"'


def literal(value: Value, dialect: str) -> str:
    if isinstance(value, bool):
        return str(value).upper() if dialect == "postgres" else str(int(value))
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else f"{value}"


def _special(table: Table, spots: Spots) -> Spots:
    """The only money or date of the table, where the question names no column."""
    if spots == MONEY:
        return tuple(Spot(table.name, (one.name,)) for one in table.columns if one.money)
    if spots == DATE:
        dates = [one for one in table.columns if one.date]
        verbs = {stem(word) for forms, nouns in VERBS.items() if called(table, nouns) for word in forms.split()}
        main = [one for one in dates if {stem(word) for word in split(one.name)} & verbs]
        return tuple(Spot(table.name, (one.name,)) for one in main or dates)
    return spots


def _as(table: str, alias: str) -> str:
    return name(table) if table == alias else f"{name(table)} AS {name(alias)}"


def _equal(step: Step, start: str, end: str) -> str:
    return " AND ".join(f"{name(end)}.{name(theirs)} = {name(start)}.{name(mine)}" for mine, theirs in step.pairs)
