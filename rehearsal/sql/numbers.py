"""Numbers of rows, sums and averages as a SELECT, whole or in groups, so that no row counts twice."""

from typing import assert_never

from rehearsal.sql.ask import (
    Ask,
    Blank,
    Compare,
    Condition,
    Group,
    Match,
    Measure,
    Not,
    Noun,
    Period,
    Related,
    Several,
    Spot,
    Sums,
)
from rehearsal.sql.conditions import add, against, function, nearest_spot, sql
from rehearsal.sql.joins import single
from rehearsal.sql.literals import unit
from rehearsal.sql.people import humans, own_kind
from rehearsal.sql.scopes import Place, Scope, Unclear, Writer
from rehearsal.sql.selects import Shown, columns_of, key, label, statement, title


def numbers(ask: Ask, writer: Writer) -> str:  # noqa: C901  one line a form
    if ask.measures[0].per is not None:
        return _ratio(ask, writer)
    bases = {(_base(writer, measure), measure.noun or ask.noun) for measure in ask.measures}
    if len(bases) > 1:
        _several_kinds(writer, [base for base, _ in bases])
        if ask.groups:
            raise Unclear("measures of several tables in groups")
        parts = [numbers(Ask(ask.noun, (one,)), writer) for one in ask.measures]
        return f"SELECT {', '.join(f'({chr(10)}{part}{chr(10)})' for part in parts)}"
    if ask.guessed and any(own_kind(writer.tables, base) for base, _ in bases):
        raise Unclear("it is not clear which kind of rows count")
    scope, subject = _subject(ask, writer, bases.pop()[0])
    if ask.portion and (not ask.groups or ask.noun.conditions):
        raise Unclear("a share of what")
    if not ask.groups and (ask.order or ask.limit or ask.having):
        raise Unclear("one number has no order")
    if ask.share is not None:
        return statement([(_percentage(subject, ask.share), "percentage")], scope)
    shown, keys = _grouped(ask, subject)
    by_thing = any(isinstance(group, Noun) for group in ask.groups) and writer.joins.references(scope.table) > 1
    if by_thing and any(one.function == "avg" for one in ask.measures):
        raise Unclear(f"it is not clear whether {scope.table} are averaged, or their totals")
    if ask.columns:
        shown = [*shown, *_determined(ask, subject)]
        keys = list(dict.fromkeys((*keys, *(text for text, _ in shown))))
    measures = [(_calculated(scope, subject, one), title(one)) for one in ask.measures]
    if ask.portion and measures[0][0] == "COUNT(*)":
        measures = [("100.0 * COUNT(*) / SUM(COUNT(*)) OVER ()", "percentage")]
    return _finish(ask, scope, (shown, keys), measures)


def _percentage(subject: Place, share: Condition) -> str:
    """How many of a hundred rows are so."""
    if isinstance(share, Related) and not share.noun.conditions and single(subject.to(share.noun.table)[1]):
        raise Unclear("a share of what all have")
    return f"100.0 * SUM(CASE WHEN {sql(subject, share)} THEN 1 ELSE 0 END) / COUNT(*)"


def _several_kinds(writer: Writer, bases: list[str]) -> None:
    """Numbers of different rows of one table whose rows are of several kinds, of which one is called like the table."""
    if len(bases) > len(set(bases)) and any(own_kind(writer.tables, base) for base in bases):
        raise Unclear("it is not clear whether one kind counts among the other")


def _base(writer: Writer, measure: Measure) -> str:
    """The table whose rows a measure runs over: the noun's, or the one its column is in."""
    noun = measure.noun or Noun("")
    if not measure.spots:
        return noun.table
    scope = Scope(Writer(writer.tables, writer.joins, writer.dialect), noun.table)
    spot, path = scope.root.nearest(measure.spots)
    return noun.table if single(path) else spot.table


def _subject(ask: Ask, writer: Writer, base: str) -> tuple[Scope, Place]:
    """The SELECT over the base, and the place of the noun in it."""
    noun = ask.measures[0].noun or ask.noun
    scope = Scope(writer, base)
    if noun.best is not None:
        raise Unclear("a number of the best ones")
    cost, path = scope.root.to(noun.table)
    if not single(path):
        raise Unclear(f"{base} has several {noun.table}")
    if base != noun.table and any(wide(Place(scope, noun.table, path), one) for one in noun.conditions):
        raise Unclear("it is not clear which rows are measured")
    if base != noun.table:
        _of_parts(ask, writer, base)
    writer.cost += cost
    place = scope.root.at(path)
    add(place, *noun.conditions)
    return scope, place


def _of_parts(ask: Ask, writer: Writer, base: str) -> None:
    """A measure of rows by a column of their parts. A sum is the same anyway; an average of the parts is not theirs."""
    noun = ask.measures[0].noun or ask.noun
    if own_kind(writer.tables, base):
        raise Unclear(f"it is not clear which kind of {base} counts")
    several = noun.table in humans(writer.tables) or writer.joins.references(base) > 1
    if several and not ask.groups and any(one.function != "sum" for one in ask.measures):
        raise Unclear(f"it is not clear whether {base} are meant or all {base} of one of {noun.table} together")


def wide(place: Place, condition: Condition) -> bool:
    """Whether a condition is about other rows, of which there may be many."""
    match condition:
        case Not():
            return wide(place, condition.part)
        case Several():
            return any(wide(place, part) for part in condition.parts)
        case Related():
            return not single(place.to(condition.noun.table)[1])
        case Match():
            return any(not single(place.nearest(spot for spot, _ in options)[1]) for options in condition.values)
        case Compare() | Blank():
            return not single(place.nearest(condition.spots)[1])
        case Sums():
            return True
        case never:
            assert_never(never)


def _grouped(ask: Ask, subject: Place) -> tuple[Shown, list[str]]:
    shown: Shown = []
    keys: list[str] = []
    for group in ask.groups:
        these, mine = _group(subject, group)
        shown += these
        keys += mine
    return shown, list(dict.fromkeys(keys))


def _determined(ask: Ask, subject: Place) -> Shown:
    """Columns to be shown beside groups: those of the thing that is grouped by."""
    tables = {group.table for group in ask.groups if isinstance(group, Noun)}
    found: Shown = []
    for spots in ask.columns:
        mine = tuple(spot for spot in spots if spot.table in tables)
        grouped = [spot for group in ask.groups if isinstance(group, tuple) for spot in group if spot in spots]
        if not mine and not grouped:
            raise Unclear("a column that the groups do not have")
        found += columns_of(subject, mine) if mine else []
    return found


def _group(subject: Place, group: Group) -> tuple[Shown, list[str]]:
    writer = subject.writer
    if isinstance(group, Period):
        spot, path = subject.nearest(group.spots)
        there = subject.at(path)
        text = unit(there.column(spot.columns[0]), there.info(spot.columns[0]), group.unit, writer.dialect)
        return [(text, group.unit)], [text]
    if isinstance(group, Noun):
        cost, path = subject.to(group.table)
        writer.cost += cost
        there = subject.at(path)
        add(there, *group.conditions)
        shown = label(there)
        return shown, [*key(there), *(text for text, _ in shown)]
    shown = columns_of(subject, group)
    return shown, [text for text, _ in shown]


def _calculated(scope: Scope, subject: Place, measure: Measure) -> str:
    base = scope.root
    many = scope.multiplied
    if measure.function == "count" and not measure.spots:
        return function(base, measure, None, twice=many)
    spot, path = subject.nearest(measure.spots) if base.table == subject.table else (_spot(subject, measure), ())
    return function(base.at(path), measure, spot, twice=many)


def _spot(subject: Place, measure: Measure) -> Spot:
    return nearest_spot(subject, subject.table, measure.spots)


def _finish(ask: Ask, scope: Scope, groups: tuple[Shown, list[str]], measures: Shown) -> str:
    shown, keys = groups
    having = against(measures[0][0], *ask.having, scope.root) if ask.having else ""
    order: list[str] = []
    if ask.groups:
        order = [text for text, _ in shown]
        if ask.order is not None and not (ask.order.by and not isinstance(ask.order.by, Measure)):
            order = [f"{measures[0][0]}{' DESC' if ask.order.descending else ''}", *order]
        elif ask.order is not None:
            order[0] += " DESC" if ask.order.descending else ""
        if ask.limit is not None:
            scope.where += [f"{text} IS NOT NULL" for text, _ in shown]
    return statement([*shown, *measures], scope, keys=keys, having=having, order=order, limit=ask.limit)


def _ratio(ask: Ask, writer: Writer) -> str:
    """An average number of rows: all of them by all that may have them."""
    measure = ask.measures[0]
    noun, per = measure.noun or ask.noun, measure.per or ask.noun
    if ask.groups or noun.best or per.best:
        raise Unclear("an average of numbers in groups")
    if per.table in humans(writer.tables) and not per.conditions:
        raise Unclear(f"it is not clear whether {per.table} without any {noun.table} count")
    counted, having = Scope(writer, noun.table), Scope(writer, per.table)
    cost, path = counted.root.to(per.table)
    if not single(path):
        raise Unclear(f"{noun.table} are not of one {per.table} each")
    writer.cost += cost
    add(counted.root, *noun.conditions, *([Related(per)] if per.conditions else []))
    add(having.root, *per.conditions)
    parts = [" ".join(f"SELECT COUNT(*) {scope.source()}".split("\n")) for scope in (counted, having)]
    return f"SELECT 1.0 * ({parts[0]}) / NULLIF(({parts[1]}), 0) AS average"
