"""Checks PostgreSQL's plan of a query against what the query may read."""

import re
import secrets
from collections.abc import Iterator
from typing import Any, NamedTuple

from sql.outcome import QueryLimits, QueryRefused
from sql.postgres_errors import TOO_LARGE
from sql.postgres_guard import check_function, check_naming, mentioned, unlisted
from sql.postgres_names import PgNames, reaches
from sql.query_parser import ParsedQuery, function_calls
from sql.spelling import quoted
from sql.tokens import tokenize

MAX_ROW = 500_000  # bytes of one row at which the server stops, even if the result limit is lower
_NO_EXPRESSIONS = {"Alias", "CTE Name", "Index Name", "Relation Name", "Schema", "Subplan Name", "Node Type"}


class CoveredQuery(NamedTuple):
    """The user's query in its wrapper."""

    text: str
    """The SQL that runs."""
    fenced: str
    """The SQL for EXPLAIN: the same, with fences for covers and for views that read hidden columns."""
    fences: dict[str, str]
    """The table or view behind each fence, by the fence's name."""


def cover(query: ParsedQuery, names: PgNames, limits: QueryLimits) -> CoveredQuery:
    """The user's query with covers for the tables with hidden columns, and a size limit for rows.

    The server raises an error for a row that is too large, because measuring it here would need it in memory first. It
    checks the stored size, which counts compressed values, and the size as sent. OFFSET 0 is an optimization barrier:
    without it PostgreSQL could evaluate the limit, and the selected expressions, for rows that joins drop.
    """
    mark = f"p{secrets.token_hex(8)}"
    fences = {f"{mark}_{place}": name for place, name in enumerate(sorted(mentioned(query.tokens) & names.fenced))}
    covers, behind = [], []
    for fence, name in fences.items():
        columns = ", ".join(quoted(column) for column in names.visible[name])
        table = quoted(names.spelling[name])
        source = f"(SELECT {columns} FROM {quoted(names.schema)}.{table})"  # noqa: S608
        behind += [f"{fence} AS MATERIALIZED {source}", f"{table} AS NOT MATERIALIZED (SELECT * FROM {fence})"]  # noqa: S608
        if name in names.hidden_columns:
            covers.append(f"{table} AS NOT MATERIALIZED {source}")
    packed = f"pg_catalog.pg_column_size({mark}.*)"
    sent = f"pg_catalog.octet_length(pg_catalog.record_send({mark}.*))"
    most = max(MAX_ROW, limits.bytes)
    bound = " ".join(f"WHEN {size} > {most} THEN {_failing(size)}" for size in (packed, sent))
    whole = f"SELECT whole.* FROM (\n{query.sql}\n) AS whole OFFSET 0"  # noqa: S608  its brackets match
    bounded_query = f"SELECT {mark}.* FROM ({whole}) AS {mark} WHERE CASE {bound} ELSE true END"  # noqa: S608
    return CoveredQuery(_under(covers) + bounded_query, _under(behind) + bounded_query, fences)


def _failing(size: str) -> str:
    """An expression that fails with the size in its error message: a cast of text to a number."""
    return f"('{TOO_LARGE} of ' || {size} || ' bytes')::pg_catalog.int4 = 0"


def _under(covers: list[str]) -> str:
    return f"WITH {', '.join(covers)} " if covers else ""


def check_plan(plan: Any, names: PgNames, named: tuple[str, ...], query: CoveredQuery, sql: str) -> None:
    """Refuse a plan that reads or does more than allowed. Raises QueryRefused.

    `plan` is the EXPLAIN output of `query.fenced`; `sql` is the user's text.
    """
    beneath = {
        relation for name in named if name.lower() not in names.fenced for relation in _scanned_for(names, name.lower())
    }
    for node, fence in _nodes(plan):
        if node.get("Node Type") in ("ModifyTable", "LockRows"):
            raise QueryRefused("writes", "It would write or lock rows.")
        behind = query.fences.get(fence)
        for place in _relations(node, names.schema):
            allowed = place in _scanned_for(names, behind) if behind else names.may_scan(place) or place in beneath
            if not allowed or (place[0] == names.schema and place[1].lower() in names.hidden_tables):
                raise _past_its_cover(place[1], names)
        for text in _expressions(node):
            _check_calls(text, names, sql)


def _scanned_for(names: PgNames, name: str) -> set[tuple[str, str]]:
    """Everything that is scanned for a listed table or view, including itself."""
    return {(names.schema, names.spelling.get(name, name)), *names.sources.get(name, ())}


def _check_calls(text: str, names: PgNames, sql: str) -> None:
    """Check the functions in an expression of the plan, and casts that reveal names."""
    query_tokens = tokenize(text, "postgres")
    for schema, call in function_calls(query_tokens):
        if not _is_owners(names, call.text.lower(), sql):
            check_function(names, schema, call.text.lower())
    if not (names.is_unrestricted and "reg" not in sql.lower()):
        check_naming(query_tokens, names)


def _past_its_cover(name: str, names: PgNames) -> QueryRefused:
    if name.lower() in names.listed:
        return QueryRefused(
            "hidden", f"Parts of {name} are hidden. Write {name} alone, and name what you can read of it."
        )
    return unlisted(name, names)


def _is_owners(names: PgNames, name: str, sql: str) -> bool:
    """Whether the call is from a view or policy, whose owner is trusted, and reveals nothing hidden."""
    if re.search(rf"\b{re.escape(name)}\b", sql, re.IGNORECASE):
        return False
    return name == "current_setting" or (names.is_unrestricted and not reaches(name))


def _nodes(plan: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """All nodes of the plan, each with the outermost CTE that contains it."""
    ahead = [(plan, "")]
    while ahead:
        part, fence = ahead.pop()
        if isinstance(part, dict):
            subplan = str(part.get("Subplan Name", ""))
            fence = fence or (subplan.removeprefix("CTE ") if subplan.startswith("CTE ") else "")
            yield part, fence
        if isinstance(part, dict | list):
            ahead += [(child, fence) for child in (part.values() if isinstance(part, dict) else part)]


def _relations(node: dict[str, Any], schema: str) -> Iterator[tuple[str, str]]:
    """The scanned tables as (schema, name). A join on a foreign server lists all its tables in one text."""
    if relation := node.get("Relation Name"):
        yield node.get("Schema", schema), relation
    query_tokens = tokenize(str(node.get("Relations", "")), "postgres")
    for before, dot, after in zip(query_tokens, query_tokens[1:], query_tokens[2:], strict=False):
        if dot.text == "." and before.identifier is not None and after.identifier is not None:
            yield before.text, after.text


def _expressions(node: dict[str, Any]) -> Iterator[str]:
    for key, value in node.items():
        if key in _NO_EXPRESSIONS:
            continue
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from (item for item in value if isinstance(item, str))
