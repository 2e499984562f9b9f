"""PostgreSQL's plan of a statement, held against what the statement may read."""

import re
from collections.abc import Iterator
from typing import Any

from sql.look import calls
from sql.outcome import Refused
from sql.postgres_cover import Covered
from sql.postgres_guard import check_function, check_naming, unlisted
from sql.postgres_names import PgNames, reaches
from sql.tokens import tokens

_NO_EXPRESSIONS = {"Alias", "CTE Name", "Index Name", "Relation Name", "Schema", "Subplan Name", "Node Type"}


def see(plan: Any, names: PgNames, named: tuple[str, ...], query: Covered, sql: str) -> None:
    """Refuse what PostgreSQL would do besides. `plan` is EXPLAIN's of `query.fenced`; `sql` is the person's text."""
    beneath = {one for name in named if name.lower() not in names.fenced for one in _beneath(names, name.lower())}
    for node, fence in _nodes(plan):
        if node.get("Node Type") in ("ModifyTable", "LockRows"):
            raise Refused("writes", "It would write or lock rows.")
        behind = query.fences.get(fence)
        for place in _relations(node, names.schema):
            allowed = place in _beneath(names, behind) if behind else names.may_scan(place) or place in beneath
            if not allowed or (place[0] == names.schema and place[1].lower() in names.shut):
                raise _past_its_cover(place[1], names)
        for text in _expressions(node):
            _calls(text, names, sql)


def _beneath(names: PgNames, name: str) -> set[tuple[str, str]]:
    """What is scanned for a listed table or view, itself among it."""
    return {(names.schema, names.real.get(name, name)), *names.beneath.get(name, ())}


def _calls(text: str, names: PgNames, sql: str) -> None:
    """Functions in an expression of the plan, and casts that tell names."""
    found = tokens(text, "postgres")
    for schema, call in calls(found):
        if not _owners(names, call.text.lower(), sql):
            check_function(names, schema, call.text.lower())
    if not (names.open and "reg" not in sql.lower()):
        check_naming(found, names)


def _past_its_cover(name: str, names: PgNames) -> Refused:
    if name.lower() in names.listed:
        return Refused("hidden", f"Parts of {name} are hidden. Write {name} alone, and name what you can read of it.")
    return unlisted(name, names)


def _owners(names: PgNames, name: str, sql: str) -> bool:
    """Only in a view or a policy of the database: its owner's word, as long as it cannot tell what is hidden."""
    if re.search(rf"\b{re.escape(name)}\b", sql, re.IGNORECASE):
        return False
    return name == "current_setting" or (names.open and not reaches(name))


def _nodes(plan: Any) -> Iterator[tuple[dict[str, Any], str]]:
    """All nodes, at any depth, each with the outermost CTE that it belongs to."""
    ahead = [(plan, "")]
    while ahead:
        part, fence = ahead.pop()
        if isinstance(part, dict):
            subplan = str(part.get("Subplan Name", ""))
            fence = fence or (subplan.removeprefix("CTE ") if subplan.startswith("CTE ") else "")
            yield part, fence
        if isinstance(part, dict | list):
            ahead += [(one, fence) for one in (part.values() if isinstance(part, dict) else part)]


def _relations(node: dict[str, Any], schema: str) -> Iterator[tuple[str, str]]:
    """What it scans, by schema and name; a join that a foreign server makes names all of its tables in one text."""
    if relation := node.get("Relation Name"):
        yield node.get("Schema", schema), relation
    found = tokens(str(node.get("Relations", "")), "postgres")
    for before, dot, after in zip(found, found[1:], found[2:], strict=False):
        if dot.text == "." and before.identifier is not None and after.identifier is not None:
            yield before.text, after.text


def _expressions(node: dict[str, Any]) -> Iterator[str]:
    for key, value in node.items():
        if key in _NO_EXPRESSIONS:
            continue
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from (one for one in value if isinstance(one, str))
