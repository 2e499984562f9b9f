"""Checks PostgreSQL's plan of a query against what the query may read."""

import re
from collections.abc import Iterator
from typing import Any

from sql.outcome import QueryRefused
from sql.postgres_cover import CoveredQuery
from sql.postgres_guard import check_function, check_naming, unlisted
from sql.postgres_names import PgNames, reaches
from sql.query_parser import function_calls
from sql.tokens import tokenize

_NO_EXPRESSIONS = {"Alias", "CTE Name", "Index Name", "Relation Name", "Schema", "Subplan Name", "Node Type"}


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
