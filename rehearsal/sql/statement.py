"""Writes the SQL statement of a parsed question."""

from rehearsal.sql.joins import Joins, single
from rehearsal.sql.reader import Unclear
from rehearsal.sql.schema import Tables
from rehearsal.sql.select import Select, candidates, name
from rehearsal.sql.syntax import Condition, Filter, Measure, Noun, QuestionTree, Spot

_NAMES = {"sum": "total", "avg": "average", "max": "highest", "min": "lowest"}
Shown = list[tuple[str, str]]


def write(query: QuestionTree, tables: Tables, joins: Joins, dialect: str) -> str:
    """The statement over the likeliest possible table. Raises Unclear if there is none, or two are equally likely."""
    why = "No table has such rows"
    roots = _roots(query.noun, tables)
    for rank in sorted({rank for _, rank in roots}):
        written = {}
        for table, _ in (root for root in roots if root[1] == rank):
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
    """The tables that the statement may begin with; for an id, the table that it is the key of."""
    spots = {spot for condition in noun.filters if isinstance(condition, Filter) for spot, _ in condition.options}
    if not noun.tables and any(spot.columns == tables[spot.table].title for spot in spots if spot.table):
        raise Unclear("A name is not what is counted: say whether it is about the thing or its orders")
    ranked = candidates(noun.tables, noun.filters, tables)
    return [root for root in ranked if (root[0], (tables[root[0]].own_key,)) in spots] or ranked


def _statement(query: QuestionTree, select: Select) -> str:
    divided = {spot for spots in (*query.groups, *query.columns) if not isinstance(spots, Noun) for spot in spots}
    select.add(condition for condition in query.noun.filters if not _names_any(condition, divided))
    return _number(query, query.measure, select) if query.measure else _rows(query, select)


def _names_any(condition: Condition, spots: set[Spot]) -> bool:
    return isinstance(condition, Filter) and condition.op == "named" and condition.options[0][0] in spots


def _number(query: QuestionTree, measure: Measure, select: Select) -> str:
    if query.distinct and select.tables.column(select.table, select.tables[select.table].key[0]).references:
        raise Unclear(f"It is not clear when two of {select.table} are the same")
    text, label = _measure(measure, select)
    columns, keys = _groups(query, select)
    order = [expression for expression, _ in columns]
    if query.most is not None:
        if not query.most and any(isinstance(group, Noun) for group in query.groups):
            raise Unclear("Those that have none at all would not be counted")
        order = [f"{text}{' DESC' if query.most else ''}", *order]
    if query.limit is not None:
        select.where += [f"{expression} IS NOT NULL" for expression, _ in columns]
    lines = [f"SELECT {_named([*columns, (text, label)])}", select.source()]
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


def _groups(query: QuestionTree, select: Select) -> tuple[Shown, list[str]]:
    """The columns shown for each group, and the expressions to group by."""
    shown_columns: Shown = []
    keys: list[str] = []
    for group in query.groups:
        if isinstance(group, Noun):
            paths = [select.joins.path(select.table, table) for table, _ in group.tables]
            ways = [way for way in paths if way and single(way)]
            if len(ways) != 1:
                raise Unclear(f"{select.table} do not belong to one group each")
            columns = select.label(ways[0])
            keys += select.key(ways[0])
        else:
            columns = select.columns(group)
        shown_columns += columns
        keys += [text for text, _ in columns]
    return shown_columns, list(dict.fromkeys(keys))


def _rows(query: QuestionTree, select: Select) -> str:
    if query.groups:
        raise Unclear("A list has no groups")
    columns = [column for spots in query.columns for column in select.columns(spots)] or select.label()
    return f"SELECT {'DISTINCT ' if query.distinct else ''}{_named(columns)}\n{select.source()}"


def _named(columns: Shown) -> str:
    """The distinct expressions, each with an alias."""
    taken: set[str] = set()
    lines = []
    for text, alias in dict.fromkeys(columns):
        label, number = alias, 2
        while label in taken:
            label, number = f"{alias}_{number}", number + 1
        taken.add(label)
        lines.append(text if text.rpartition(".")[2].strip('"') == label else f"{text} AS {name(label)}")
    return ", ".join(lines)
