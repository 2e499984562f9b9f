"""A whole question as one statement over the table that is meant."""

from rehearsal.sql.joins import Joins, single
from rehearsal.sql.reader import Unclear
from rehearsal.sql.select import Select, candidates, name
from rehearsal.sql.syntax import Filter, Measure, Noun, Query
from rehearsal.sql.tables import Tables

_NAMES = {"sum": "total", "avg": "average", "max": "highest", "min": "lowest"}
Shown = list[tuple[str, str]]


def write(query: Query, tables: Tables, joins: Joins, dialect: str) -> str:
    """The statement over the likeliest tables that will do; raises Unclear where there are two, or none."""
    why = "No table has such rows"
    roots = _roots(query.noun, tables)
    for rank in sorted({rank for _, rank in roots}):
        written = {}
        for table, _ in (one for one in roots if one[1] == rank):
            try:
                written[table] = _statement(query, Select(tables, joins, dialect, table))
            except Unclear as unclear:
                why = str(unclear)
        if len(written) > 1:
            raise Unclear(f"It may be about {' or about '.join(written)}")
        if written:
            return written.popitem()[1]
    raise Unclear(why)


def _roots(noun: Noun, tables: Tables) -> list[tuple[str, int]]:
    """The tables that the statement may begin with; of a row's own id, the table that it is the key of."""
    spots = {spot for one in noun.filters if isinstance(one, Filter) for spot, _ in one.options}
    if not noun.tables and any(spot.columns == tables[spot.table].title for spot in spots if spot.table):
        raise Unclear("A name is not what is counted: say whether it is about the thing or its orders")
    found = candidates(noun.tables, noun.filters, tables)
    return [one for one in found if (one[0], (tables[one[0]].own_key,)) in spots] or found


def _statement(query: Query, select: Select) -> str:
    divided = {spot for spots in (*query.groups, *query.columns) if not isinstance(spots, Noun) for spot in spots}
    select.add(one for one in query.noun.filters
               if not (isinstance(one, Filter) and one.op == "named" and one.options[0][0] in divided))  # fmt: skip
    return _number(query, query.measure, select) if query.measure else _rows(query, select)


def _number(query: Query, measure: Measure, select: Select) -> str:
    if query.distinct and select.tables.column(select.table, select.tables[select.table].key[0]).references:
        raise Unclear(f"It is not clear when two of {select.table} are the same")
    text, label = _measure(measure, select)
    shown, keys = _groups(query, select)
    order = [one for one, _ in shown]
    if query.most is not None:
        if not query.most and any(isinstance(group, Noun) for group in query.groups):
            raise Unclear("Those that have none at all would not be counted")
        order = [f"{text}{' DESC' if query.most else ''}", *order]
    if query.limit is not None:
        select.where += [f"{one} IS NOT NULL" for one, _ in shown]
    lines = [f"SELECT {_named([*shown, (text, label)])}", select.source()]
    lines += [f"GROUP BY {', '.join(keys)}"] if keys else []
    lines += [f"ORDER BY {', '.join(dict.fromkeys(order))}"] if order else []
    lines += [f"LIMIT {query.limit}"] if query.limit is not None else []
    return "\n".join(lines)


def _measure(measure: Measure, select: Select) -> tuple[str, str]:
    if not measure.of:
        return "COUNT(*)", select.table
    (text, column), *more = select.columns(measure.of)
    spot, path = select.find(measure.of)
    if measure.function == "count" and not more:
        return f"COUNT(DISTINCT {text})", f"{column}_count"
    if more or path or not select.tables.column(spot.table, column).number:
        raise Unclear(f"{column} holds no amounts of {select.table}")
    return f"{measure.function.upper()}({text})", f"{_NAMES[measure.function]}_{column}"


def _groups(query: Query, select: Select) -> tuple[Shown, list[str]]:
    """What is shown of the groups, and what they are made by."""
    shown: Shown = []
    keys: list[str] = []
    for group in query.groups:
        if isinstance(group, Noun):
            found = [select.joins.path(select.table, table) for table, _ in group.tables]
            ways = [way for way in found if way and single(way)]
            if len(ways) != 1:
                raise Unclear(f"{select.table} do not belong to one group each")
            columns = select.label(ways[0])
            keys += select.key(ways[0])
        else:
            columns = select.columns(group)
        shown += columns
        keys += [text for text, _ in columns]
    return shown, list(dict.fromkeys(keys))


def _rows(query: Query, select: Select) -> str:
    if query.groups:
        raise Unclear("A list has no groups")
    shown = [one for spots in query.columns for one in select.columns(spots)] or select.label()
    return f"SELECT {'DISTINCT ' if query.distinct else ''}{_named(shown)}\n{select.source()}"


def _named(shown: Shown) -> str:
    """Expressions with a name each, none twice."""
    taken: set[str] = set()
    lines = []
    for text, wanted in dict.fromkeys(shown):
        label, number = wanted, 2
        while label in taken:
            label, number = f"{wanted}_{number}", number + 1
        taken.add(label)
        lines.append(text if text.rpartition(".")[2].strip('"') == label else f"{text} AS {name(label)}")
    return ", ".join(lines)
