"""A whole question as one SELECT."""

from contextlib import suppress
from dataclasses import replace

from rehearsal.sql.ask import Ask, Best, Condition, Match, Measure, Not, Noun, Related, Sums
from rehearsal.sql.conditions import add, scalar
from rehearsal.sql.joins import Joins, single
from rehearsal.sql.numbers import numbers, wide
from rehearsal.sql.people import own_kind
from rehearsal.sql.scopes import Place, Scope, Unclear, Writer
from rehearsal.sql.selects import Shown, column_of, columns_of, key, label, statement, title
from rehearsal.sql.tables import Tables

GUESS = 0.5  # how far fetched it is that the question does not name its rows
LINK = 0.7  # for each table that such rows point at: things come before what was done with them


def write(ask: Ask, tables: Tables, joins: Joins, dialect: str) -> tuple[str, float]:
    """The statement, and how far its parts had to be fetched; raises Unclear."""
    writer = Writer(tables, joins, dialect)
    if ask.noun.value or ask.guessed:
        writer.cost += GUESS + LINK * joins.references(ask.noun.table)
    if ask.noun.value and [one.function for one in ask.measures] == ["count"]:
        _countable(ask, tables, joins)
    text = numbers(ask, writer) if ask.measures else _rows(_by_part(ask, tables, joins), writer)
    return text, writer.cost


def _by_part(ask: Ask, tables: Tables, joins: Joins) -> Ask:
    """Columns of parts of the rows: a line for each part. `order ids and product names of customers in Boston`."""
    place = Scope(Writer(tables, joins, ""), ask.noun.table).root
    reached = [place.nearest(spots) for spots in ask.columns]
    parts = {step.end: None for _, path in reached if not single(path) for step in path if step.many}
    if not parts:
        return ask
    table = next((one for one in reversed(parts) if _holds_all(Scope(Writer(tables, joins, ""), one).root, ask)), "")
    if not table:
        raise Unclear("the columns asked for are of rows that do not belong together")
    whole = all(column_of(place, spot).number and not single(path) for spot, path in reached)
    if whole or ask.noun.best or ask.extra or own_kind(tables, table):
        raise Unclear(f"it is not clear what to show of several {table} of one of {ask.noun.table}")
    if any(wide(place, one) for one in ask.noun.conditions):
        raise Unclear(f"it is not clear whether all {table} are to be shown")
    conditions = (Related(ask.noun),) if ask.noun.conditions else ()
    return replace(ask, noun=Noun(table, conditions))


def _holds_all(part: Place, ask: Ask) -> bool:
    """Whether each row there has one of everything: of the columns, and of what the question is about."""
    with suppress(Unclear):
        return all(single(part.nearest(spots)[1]) for spots in ask.columns) and single(part.to(ask.noun.table)[1])
    return False


def _countable(ask: Ask, tables: Tables, joins: Joins) -> None:
    """A name names one thing: how many there are of it is not told by rows of that name."""
    table = tables[ask.noun.table]
    if not table.title and any(isinstance(one, Related) for one in ask.noun.conditions):
        raise Unclear(f"it is not clear whether {table.name} are counted, or how often something was done with them")
    alone = len(ask.noun.conditions) == 1 or not joins.references(ask.noun.table)
    for one in ask.noun.conditions if alone else ():
        spot = one.values[0][0][0] if isinstance(one, Match) else None
        if spot and spot.columns == tables[spot.table].title and not ask.measures[0].spots:
            raise Unclear(
                "it is not clear what is counted: how often it was ordered, or how many kinds of it there are"
            )


def _rows(ask: Ask, writer: Writer) -> str:
    """A list of rows."""
    scope = Scope(writer, ask.noun.table)
    add(scope.root, *ask.noun.conditions)
    best = ask.noun.best
    if best and ask.order and ask.order.descending != best.descending:
        raise Unclear("two orders against each other")
    if ask.guessed and any(_negative(one) for one in ask.noun.conditions):
        raise Unclear("what some rows are not says nothing of the values of their columns")
    if ask.guessed and any(wide(scope.root, one) for one in ask.noun.conditions):
        raise Unclear(f"it is not clear whether {ask.noun.table} are meant")
    shown = [one for spots in ask.columns for one in columns_of(scope.root, spots)] or label(scope.root)
    shown += [_measured(scope.root, measure) for measure in (*ask.extra, *_counted(ask))]
    order: list[str] = []
    if best is not None:
        _one_way(scope.root, ask)
        by, column = _by(scope.root, best)
        if column not in [text for text, _ in shown] and (not ask.columns or isinstance(best.by, Measure)):
            shown.append((column, by))
        last = " NULLS LAST" if column.startswith("(") else ""  # the databases differ in where nothing comes
        order = [f"{column} {'DESC' if best.descending else 'ASC'}{last}", *key(scope.root)]
        if not column.startswith("("):
            scope.where.append(f"{column} IS NOT NULL")
    elif ask.order is not None:
        order = _ordered(scope.root, ask.order, shown)
    if scope.multiplied and (best or ask.extra or any(wide(scope.root, one) for one in ask.noun.conditions)):
        raise Unclear("the columns asked for are of other rows")
    distinct = ask.distinct or scope.multiplied or _repeating(ask, tables=writer.tables)
    limit = ask.limit or (best.limit if best else None)
    return statement(shown, scope, order=order if not distinct else order[:1], limit=limit, distinct=distinct)


def _negative(condition: Condition) -> bool:
    """No rows at all of others: `cities without orders` are no cities of customers without orders."""
    return (isinstance(condition, Related) and condition.none) or (
        isinstance(condition, Not) and not isinstance(condition.part, Match)
    )


def _one_way(place: Place, ask: Ask) -> None:
    """`the most popular product in Boston`: whether all that was sold is counted, or what was sold there."""
    by = ask.noun.best.by if ask.noun.best else ()
    if not isinstance(by, Measure) or by.noun is None or by.noun.table == place.table:
        return
    way = place.to(by.noun.table)[1]
    for one in ask.noun.conditions:
        if isinstance(one, Related) and wide(place, one):
            there = place.to(one.noun.table)[1]
        elif isinstance(one, Match) and wide(place, one):
            there = place.nearest(spot for spot, _ in one.values[0])[1]
        else:
            continue
        if way and there and way[0].end == there[0].end:
            raise Unclear(f"it is not clear whether all {by.noun.table} count, or those that are told of")


def _counted(ask: Ask) -> list[Measure]:
    """The numbers of rows that conditions speak of, to be shown with the rows."""
    related = [one for one in ask.noun.conditions if isinstance(one, Related) and not one.exists and not one.none]
    sums = [one.measure for one in ask.noun.conditions if isinstance(one, Sums)]
    return [*(Measure("count", one.noun, rows=one.rows) for one in related), *sums] if not ask.distinct else []


def _repeating(ask: Ask, tables: Tables) -> bool:
    """Columns of all rows, none of which tells the rows apart: only their different values say something."""
    plain = not ask.noun.conditions and ask.noun.best is None and bool(ask.columns)
    shown = {column for spots in ask.columns for spot in spots for column in spot.columns}
    return plain and not shown & {*tables[ask.noun.table].key, *tables[ask.noun.table].title}


def _ordered(place: Place, order: Best, shown: Shown) -> list[str]:
    if order.by == ():
        return [f"{shown[0 if not order.descending else -1][0]}{' DESC' if order.descending else ''}"]
    return [f"{_by(place, order)[1]}{' DESC' if order.descending else ''}"]


def _by(place: Place, best: Best) -> tuple[str, str]:
    """A name and an expression for what rows are ordered by."""
    if isinstance(best.by, Measure):
        text, label = _measured(place, best.by)
        return label, text
    spot, path = place.nearest(best.by)
    info = column_of(place, spot)
    if (info.date or info.year) and path:
        raise Unclear(f"{place.table} has no date of its own")
    if single(path):
        return spot.columns[0], place.at(path).column(spot.columns[0])
    if info.money and place.writer.joins.references(spot.table) > 1:
        raise Unclear(f"it is not clear which {spot.columns[0]} of {place.table} is meant")
    extreme = "max" if best.descending else "min"
    return spot.columns[0], scalar(place, Measure(extreme, None, (spot,)))


def _measured(place: Place, measure: Measure) -> tuple[str, str]:
    return scalar(place, measure), title(measure)
