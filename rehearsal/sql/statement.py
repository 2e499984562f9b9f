"""A whole question as one statement over the table that is meant."""

from rehearsal.sql.joins import Joins, Path, single
from rehearsal.sql.reader import Unclear
from rehearsal.sql.select import Select, called, candidates, literal, name
from rehearsal.sql.syntax import DATE, Filter, Measure, Noun, Query
from rehearsal.sql.tables import Tables

GUESS = 0.5  # cost of a question that does not name its rows
_NAMES = {"sum": "total", "avg": "average", "max": "highest", "min": "lowest"}


def write(query: Query, tables: Tables, joins: Joins, dialect: str) -> str:
    """The statement of least cost; raises Unclear where two tables are as likely, or none will do."""
    written: list[tuple[float, str, str]] = []
    why = ""
    for table, cost in _roots(query, tables, joins):
        select = Select(tables, joins, dialect, table)
        try:
            sql = _statement(query, select)
            written.append((cost + select.cost, sql, table))
        except Unclear as unclear:
            why = why or str(unclear)
    written.sort()
    if not written:
        raise Unclear(why or "No table has such rows")
    if len(written) > 1 and written[1][0] - written[0][0] < 0.3:
        raise Unclear(f"It may be about {written[0][2]} or about {written[1][2]}")
    return written[0][1]


def _roots(query: Query, tables: Tables, joins: Joins) -> list[tuple[str, float]]:
    """The tables that the statement may begin with, and how far-fetched each is."""
    noun = query.noun
    if noun.tables:
        keyed = {spot for one in noun.filters if isinstance(one, Filter) for spot, _ in one.options}
        owner = [table for table, _ in noun.tables if (table, (tables[table].own_key,)) in keyed]
        return [(table, 0.4 * rank) for table, rank in noun.tables if not owner or table in owner]
    if noun.via:
        return [(name, 0.0) for name in _doing(query, tables, joins)]
    named = {table for table, _ in candidates(noun, tables)}
    first = noun.filters[0] if noun.filters else None
    titled = isinstance(first, Filter) and any(
        spot.table and spot.columns == tables[spot.table].title for spot, _ in first.options
    )
    if titled and not _plain_value(query):
        raise Unclear("A name is not what is counted: say whether it is about the thing or its orders")
    roots = []
    for table in tables.by_name:
        ways = [way for one in named if (way := joins.path(table, one)) and single(way[1])]
        if ways:
            roots.append((table, GUESS + joins.references(table)))
    return roots


def _plain_value(query: Query) -> bool:
    """A thing that is called by its name alone: something of the row itself is asked for."""
    more = query.noun.filters[1:]
    asked = bool(more or query.columns or query.order or any(one.of for one in query.measures))
    return asked and all(isinstance(one, Filter) for one in more)


def _doing(query: Query, tables: Tables, joins: Joins) -> list[str]:
    """The rows of what was done, of which each belongs to one group: `which product is ordered most often`."""
    group = query.groups[0] if query.groups else None
    goals = [table for table, _ in group.tables] if isinstance(group, Noun) else []
    found = []
    for table in tables.by_name:
        for goal in goals:
            ways = [joins.path(table, one) for one in tables.by_name if called(tables[one], query.noun.via)]
            way = joins.path(table, goal)
            if table != goal and way and single(way[1]) and any(one and single(one[1]) for one in ways):
                found.append((way[0] + min(one[0] for one in ways if one), table))
    return [table for cost, table in sorted(found) if cost == min(found)[0]]


def _statement(query: Query, select: Select) -> str:
    if query.distinct and query.measures and not query.measures[0].of:
        key = select.tables[select.table].key
        if len(key) != 1 or select.tables.column(select.table, key[0]).references:
            raise Unclear(f"It is not clear when two of {select.table} are the same")
    divided = {spot for spots in (*query.groups, *query.columns) if not isinstance(spots, Noun) for spot in spots} | {
        spot for one in query.share if isinstance(one, Filter) for spot, _ in one.options
    }
    select.add(one for one in query.noun.filters
               if not (isinstance(one, Filter) and one.op == "named" and one.options[0][0] in divided))  # fmt: skip
    if query.share:
        return _share(query, select)
    return _numbers(query, select) if query.measures else _rows(query, select)


def _share(query: Query, select: Select) -> str:
    wanted = " AND ".join(select.condition(one) for one in query.share)
    shown, keys = _groups(query, select)
    share = f"100.0 * SUM(CASE WHEN {wanted} THEN 1 ELSE 0 END) / NULLIF(COUNT(*), 0)"
    return _text([*shown, (share, "percentage")], select, keys=keys, order=[text for text, _ in shown])


def _numbers(query: Query, select: Select) -> str:
    measures = [_measure(one, query, select) for one in query.measures]
    shown, keys = _groups(query, select)
    having, order = "", [text for text, _ in shown]
    if query.having:
        op, values = query.having
        numbers = [literal(value, select.dialect) for value in values]
        having = f"{measures[0][0]} " + (
            f"BETWEEN {numbers[0]} AND {numbers[1]}" if op == "between" else f"{op} {numbers[0]}"
        )
    if query.order:
        if not query.groups:
            raise Unclear("One number has no order")
        if not query.order[1] and any(isinstance(group, Noun) for group in query.groups):
            raise Unclear("Those that have none at all would not be counted")
        by = select.column(query.order[0])[0] if query.order[0] else measures[0][0]
        order = [f"{by}{' DESC' if query.order[1] else ''}", *order]
    if query.limit is not None:
        select.where += [f"{text} IS NOT NULL" for text, _ in shown]
    return _text([*shown, *measures], select, keys=keys, having=having, order=order, limit=query.limit)


def _measure(measure: Measure, query: Query, select: Select) -> tuple[str, str]:
    if measure.function == "count":
        if not measure.of:
            return "COUNT(*)", select.table
        return f"COUNT(DISTINCT {select.column(measure.of)[0]})", f"{measure.of[0].columns[0]}_count"
    text, info = select.column(measure.of)
    spot, path = select.find(measure.of)
    if not info.number:
        raise Unclear(f"{info.name} holds no amounts")
    if path and measure.function != "min":
        raise Unclear(f"{info.name} is of {spot.table}, not of {select.table}")
    return f"{measure.function.upper()}({text})", f"{_NAMES[measure.function]}_{info.name}"


def _groups(query: Query, select: Select) -> tuple[list[tuple[str, str]], list[str]]:
    """What is shown of the groups, and what they are made by."""
    shown: list[tuple[str, str]] = []
    keys: list[str] = []
    for group in query.groups:
        if isinstance(group, Noun):
            path = _way(select, group)
            shown += select.label(path)
            keys += [*select.key(path), *(text for text, _ in select.label(path))]
            select.add(group.filters, path)
        elif group == DATE:
            text, _ = select.column(DATE)
            size = {"year": 4, "month": 7}[query.unit]
            cut = (
                f"TO_CHAR({text}, '{'YYYY-MM'[:size]}')"
                if select.dialect == "postgres"
                else f"SUBSTR({text}, 1, {size})"
            )
            shown.append((cut, query.unit))
            keys.append(cut)
        else:
            found = select.columns(group)
            shown += found
            keys += [text for text, _ in found]
    return shown, list(dict.fromkeys(keys))


def _way(select: Select, group: Noun) -> Path:
    ways = [way[1] for table, _ in group.tables if (way := select.joins.path(select.table, table)) and single(way[1])]
    if len(ways) != 1 or not ways[0]:
        raise Unclear(f"{select.table} do not belong to one group each")
    return ways[0]


def _rows(query: Query, select: Select) -> str:
    if query.groups or query.having:
        raise Unclear("A list has no groups")
    shown = [one for spots in query.columns for one in select.columns(spots)] or select.label()
    order: list[str] = []
    if query.order:
        text, info = select.column(query.order[0]) if query.order[0] else (shown[-1][0], None)
        shown += [(text, info.name)] if info and text not in dict(shown) and not query.distinct else []
        order = [f"{text}{' DESC' if query.order[1] else ''}", *(() if query.distinct else select.key())]
        select.where += [f"{text} IS NOT NULL"] if info and info.nullable else []
    return _text(shown, select, order=order, limit=query.limit, distinct=query.distinct)


def _text(  # noqa: PLR0913 - the parts of a SELECT, by name
    shown: list[tuple[str, str]],
    select: Select,
    *,
    keys: list[str] | None = None,
    having: str = "",
    order: list[str] | None = None,
    limit: int | None = None,
    distinct: bool = False,
) -> str:
    lines = [f"SELECT {'DISTINCT ' if distinct else ''}{', '.join(_named(shown))}", select.source()]
    lines += [f"GROUP BY {', '.join(keys)}"] if keys else []
    lines += [f"HAVING {having}"] if having else []
    lines += [f"ORDER BY {', '.join(dict.fromkeys(order))}"] if order else []
    lines += [f"LIMIT {limit}"] if limit is not None else []
    return "\n".join(lines)


def _named(shown: list[tuple[str, str]]) -> list[str]:
    """Expressions with a name each, none twice."""
    taken: set[str] = set()
    lines = []
    for text, wanted in dict.fromkeys(shown):
        label, number = wanted, 2
        while label in taken:
            label, number = f"{wanted}_{number}", number + 1
        taken.add(label)
        lines.append(text if text.rpartition(".")[2].strip('"') == label else f"{text} AS {name(label)}")
    return lines
