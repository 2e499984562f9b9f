"""Conditions as SQL, seen from a place: plain where a row finds one value, EXISTS where it may find many."""

from typing import assert_never

from rehearsal.sql.agreement import confusable, contradiction
from rehearsal.sql.ask import (
    Blank,
    Compare,
    Condition,
    Match,
    Measure,
    Not,
    Option,
    Related,
    Several,
    Spot,
    Sums,
    Value,
)
from rehearsal.sql.joins import Path, single
from rehearsal.sql.literals import equal, literal
from rehearsal.sql.people import humans
from rehearsal.sql.scopes import Place, Unclear, Writer, repeated

FAR = 3.0  # how far a name of something else, or rows of another table, are looked for
VACUOUS = 1.5  # what it costs that a condition is so of nearly every row: it may have lost its own


def sql(place: Place, condition: Condition) -> str:
    """The condition as an expression; raises Unclear where it makes none."""
    match condition:
        case Match():
            return _match(place, condition)
        case Compare() | Blank():
            return _column(place, condition)
        case Related():
            return _related(place, condition)
        case Sums():
            return against(scalar(place, condition.measure), condition.op, condition.values, place)
        case Several():
            parts = [sql(place, part) for part in condition.parts]
            if not condition.either:
                _clear(confusable(parts))
            return f"({(' OR ' if condition.either else ' AND ').join(parts)})"
        case Not():
            return _not(place, condition.part)
        case never:
            assert_never(never)


def add(place: Place, *conditions: Condition) -> None:
    place.scope.where += [sql(place, one) for one in conditions]
    _clear(confusable(place.scope.where))


def _clear(why: str) -> None:
    if why:
        raise Unclear(why)


def exists(inner: Place, *, negated: bool = False) -> str:
    inner.scope.alias(inner.path)  # all the way there is joined
    _clear(contradiction(inner.scope.where, strictly=True))
    text = "\n".join(f"  {line}" for line in f"SELECT 1\n{inner.scope.source()}".splitlines())
    return f"{'NOT ' if negated else ''}EXISTS (\n{text}\n)"


def _match(place: Place, match: Match) -> str:  # noqa: C901  one line a form
    """Values of one column together; of several columns, or each to be had, one by one."""
    found: dict[tuple[Spot, Path], list[tuple[Value, ...]]] = {}
    if match.sent and place.table in humans(place.writer.tables):
        raise Unclear("people are not sent")
    if match.lives and place.table not in humans(place.writer.tables):
        raise Unclear("things do not live anywhere")
    for every in match.values:
        options = tuple(option for option in every if not match.foreign or option[0].table != place.table)
        spot, path = place.nearest(spot for spot, _ in options)
        title = spot.table != place.table and spot.columns == place.writer.tables[spot.table].title
        if (match.foreign or title) and (place.writer.joins.reach(place.table, spot.table) or 0) > FAR:
            raise Unclear(f"{place.table} have little to do with names of {spot.table}")
        if place.writer.tables.column(spot.table, spot.columns[0]).boolean and not single(path):
            raise Unclear(f"some {spot.table} of one of the {place.table} may be so and others not")
        if not match.sure and not single(path):
            raise Unclear("it is not clear what the first word names")
        found.setdefault((spot, path), []).append(next(values for where, values in options if where == spot))
    if any(len(values) > 1 and isinstance(values[0][0], bool) for values in found.values()):
        raise Unclear("every row is one or the other")
    parts = []
    for (spot, path), values in found.items():
        together = [values] if single(path) or not match.every else [[one] for one in values]
        for some in together:
            if single(path):
                parts.append(_holds(place.at(path), spot, some))
            else:
                inner = place.below(path)
                inner.scope.where.append(_holds(inner, spot, some))
                parts.append(exists(inner))
    if len(parts) == 1:
        return parts[0]
    return f"({(' AND ' if match.every and _many(place, match) else ' OR ').join(parts)})"


def _many(place: Place, match: Match) -> bool:
    """Whether the values are such that a row may have all of them."""
    spots = {place.nearest(spot for spot, _ in options) for options in match.values}
    return len({spot for spot, _ in spots}) > 1 or any(not single(path) for _, path in spots)


def _holds(place: Place, spot: Spot, values: list[tuple[Value, ...]]) -> str:
    dialect = place.writer.dialect
    if len(spot.columns) == 1:
        column = spot.columns[0]
        return equal(place.column(column), place.info(column), [value[0] for value in values], dialect)
    names = [
        " AND ".join(
            equal(place.column(column), place.info(column), [value], dialect)
            for column, value in zip(spot.columns, one, strict=True)
        )
        for one in values
    ]
    return names[0] if len(names) == 1 else "(" + " OR ".join(f"({name})" for name in names) + ")"


def _column(place: Place, condition: Compare | Blank) -> str:
    spot, path = place.nearest(condition.spots)
    if isinstance(condition, Blank) and not _may_lack(place.writer, spot, filled=condition.filled):
        raise Unclear(f"every row has its {spot.columns[0]}")
    if single(path):
        return _plain(place.at(path), spot.columns[0], condition)
    links = place.writer.joins.references(spot.table) > 1
    if isinstance(condition, Compare) and condition.op != "days" and (condition.own or links):
        raise Unclear(f"it is not clear which amount of {place.table} is meant")
    inner = place.below(path)
    lacking = isinstance(condition, Blank) and not condition.filled
    wanted = Blank(condition.spots, filled=True) if isinstance(condition, Blank) else condition
    inner.scope.where.append(_plain(inner, spot.columns[0], wanted))
    return exists(inner, negated=lacking)


def _may_lack(writer: Writer, spot: Spot, *, filled: bool) -> bool:
    """Whether it says something that the column is empty or (`filled`) is not: with a name, all rows are meant."""
    column = writer.tables.column(spot.table, spot.columns[0])
    if column.date and filled:
        return True
    return column.nullable or not (writer.tables.tells_nullable or filled or column.key)


def _plain(place: Place, column: str, condition: Compare | Blank) -> str:
    written = place.column(column)
    if isinstance(condition, Blank):
        return f"{written} IS {'NOT ' if condition.filled else ''}NULL"
    if condition.op != "days":
        return against(written, condition.op, condition.values, place)
    start, end = (str(one) for one in condition.values)
    if place.info(column).year:
        if not all(one.endswith("-01-01") or not one for one in (start, end)):
            raise Unclear(f"{column} holds years only")
        texts = [one[:4] for one in (start, end)]
    else:
        texts = [literal(one, place.writer.dialect) if one else "" for one in (start, end)]
    parts = [f"{written} {op} {text}" for op, text in ((">=", texts[0]), ("<", texts[1])) if text]
    return " AND ".join(parts)


def against(left: str, op: str, values: tuple[Value, ...], place: Place) -> str:
    texts = [literal(value, place.writer.dialect) for value in values]
    if op == "like":
        return f"LOWER({left}) LIKE {texts[0].lower()}"
    return f"{left} BETWEEN {texts[0]} AND {texts[1]}" if op == "between" else f"{left} {op} {texts[0]}"


def _related(place: Place, condition: Related) -> str:
    cost, path = place.to(condition.noun.table)
    if cost > FAR:
        raise Unclear(f"{place.table} have little to do with {condition.noun.table}")
    place.writer.cost += cost + 0.5 * condition.noun.value
    if condition.noun.best is not None:
        raise Unclear("a best one within a condition")
    inner_conditions = condition.noun.conditions
    if single(path):
        if not (condition.exists or condition.none):
            raise Unclear(f"{place.table} has one {condition.noun.table} at most")
        there = place.at(path)
        parts = [sql(there, one) for one in inner_conditions]
        if not parts and path:
            first = place.column(path[0].pairs[0][0])
            place.writer.cost += VACUOUS
            return f"{first} IS {'' if condition.none else 'NOT '}NULL"
        if not parts or (not path and condition.noun.value):
            raise Unclear(f"{place.table} of {place.table}")
        return _negated(parts) if condition.none else " AND ".join(parts)
    if condition.exists or condition.none:
        inner = place.below(path)
        add(inner, *inner_conditions)
        return exists(inner, negated=condition.none)
    return against(
        scalar(place, Measure("count", condition.noun, rows=condition.rows)), condition.op, condition.values, place
    )


def _negated(parts: list[str]) -> str:
    return f"NOT ({' AND '.join(parts)})"


def scalar(place: Place, measure: Measure) -> str:
    """A measure over the rows that belong to the row here, as an expression."""
    if measure.per is not None:
        raise Unclear("an average of numbers of rows for each row")
    noun = measure.noun
    spot: Spot | None = None
    if measure.spots and measure.function != "count":
        table = noun.table if noun is not None else place.table
        spot = nearest_spot(place, table, measure.spots)
    target = spot.table if spot else (noun.table if noun else place.table)
    cost, path = place.to(target)
    place.writer.cost += cost
    if single(path):
        if spot is None or (noun is not None and noun.conditions):
            raise Unclear(f"{place.table} has one {target} at most")
        return place.at(path).column(spot.columns[0])
    inner = place.below(path)
    inner.scope.alias(inner.path)  # all the way there is joined, also where no column of it is named
    if noun is not None:
        hidden = noun.table == place.table and not noun.conditions
        if noun.table == target:
            add(inner, *noun.conditions)
        elif not hidden:
            add(inner, Related(noun))
    text = function(inner, measure, spot, twice=repeated(path) and not measure.rows)
    return f"(SELECT {text} {' '.join(inner.scope.source().split(chr(10)))})"


def nearest_spot(place: Place, table: str, spots: tuple[Spot, ...]) -> Spot:
    """The column that a measure of these rows is about."""
    return Place(place.scope, table, ()).nearest(spots)[0]


def function(inner: Place, measure: Measure, spot: Spot | None, *, twice: bool) -> str:
    """COUNT, SUM and the like at this place, no row counted twice."""
    if measure.function == "count":
        if measure.spots:
            return f"COUNT(DISTINCT {inner.column((spot or measure.spots[0]).columns[0])})"
        if not twice:
            return "COUNT(*)"
        key = inner.writer.tables[inner.table].key
        if len(key) != 1:
            raise Unclear(f"{inner.table} cannot be counted from here")
        return f"COUNT(DISTINCT {inner.column(key[0])})"
    if spot is None or (twice and measure.function in ("sum", "avg")):
        raise Unclear(f"a {measure.function} from here would count rows twice")
    value = f"{measure.function.upper()}({inner.column(spot.columns[0])})"
    return f"COALESCE({value}, 0)" if measure.function == "sum" else value


def _not(place: Place, part: Condition) -> str:
    """What is not so; rows where nothing is known count as not so."""
    if isinstance(part, Not):
        return sql(place, part.part)
    if isinstance(part, Blank):
        return sql(place, Blank(part.spots, not part.filled))
    if isinstance(part, Several) and part.either:
        return f"({' AND '.join(_not(place, one) for one in part.parts)})"
    if isinstance(part, Related) and part.none:
        return sql(place, Related(part.noun))
    if isinstance(part, Match) and (column := _nullable(place, part)):
        return f"({column} IS NULL OR NOT ({sql(place, part)}))"
    text = sql(place, part)
    return f"NOT {text}" if text.startswith("EXISTS") else f"NOT ({text})"


def may_be_null(place: Place, spot: Spot) -> bool:
    """As told; where nothing is told of any column, all but keys may be."""
    info = place.info(spot.columns[0])
    return info.nullable or not (place.writer.tables.tells_nullable or info.key or info.boolean)


def _nullable(place: Place, match: Match) -> str:
    options: list[Option] = [option for one in match.values for option in one]
    spot, path = place.nearest(spot for spot, _ in options)
    there = place.at(path)
    return there.column(spot.columns[0]) if single(path) and may_be_null(there, spot) else ""
