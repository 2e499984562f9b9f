"""What keeps a statement on PostgreSQL to the data it may read, besides the read-only transaction.

PostgreSQL has no authorizer. Functions are judged by name on the tokens of the text and again on the plan; tables by
sqlglot's tree and again on the plan; and a table with hidden columns is covered by a query of the same name that has
only the visible ones, so that neither `*` nor a whole row nor a clever name can reach the others.
"""

import re
from collections.abc import Iterator
from typing import Any

from sqlglot import exp
from sqlglot.optimizer.scope import traverse_scope

from sql.look import Look, calls
from sql.outcome import Limits, Refused
from sql.postgres_errors import TOO_LARGE
from sql.postgres_names import PgNames, quoted
from sql.tokens import Token, tokens

ROW = 2_000_000  # bytes of one row, at which the server stops, however few bytes a result may have
LARGE = 100_000  # characters that repeat(), lpad() and rpad() may be asked for
_SYSTEM = ("pg_catalog", "information_schema")
_NO_EXPRESSIONS = {"Alias", "CTE Name", "Index Name", "Relation Name", "Schema", "Subplan Name", "Node Type"}


def examine(query: Look, names: PgNames) -> tuple[str, ...]:
    """The listed tables it reads, as far as the text tells. Raises Refused."""
    for schema, call in calls(query.tokens):
        _function(names, schema, call.text.lower())
    _spelling(query.tokens, names)
    tables = _tables(query.tree) if query.tree is not None else None
    if tables is None:
        # The scanner tells no table from a column; but it overlooks no name, and the plan shows what is not of ours.
        mentioned = _mentioned(query.tokens)
        for name in sorted(mentioned & (names.real.keys() - names.listed)):
            raise _unlisted(name, names)
        return tuple(sorted(names.real[name] for name in mentioned & names.listed))
    for kind in query.tree.find_all(exp.DataType) if query.tree else ():
        _type(str(kind.args.get("kind") or "").lower().rpartition(".")[2].strip('"'), names)
    return tuple(sorted({_table(table, names) for table in tables}))


def covered(query: Look, names: PgNames, limits: Limits, *, inline: bool) -> str:
    """The text to run: the person's, under the covers of the tables with hidden columns, and with a bound for rows.

    A row that is too large makes the server fail: here, it would have been taken into memory before it is measured.
    """
    how = "AS NOT MATERIALIZED" if inline else "AS"
    covers = []
    for name in sorted(_mentioned(query.tokens) & names.listed & names.concealed.keys()):
        columns = ", ".join(quoted(column) for column in names.visible[name])
        table = quoted(names.real[name])
        covers.append(f"{table} {how} (SELECT {columns} FROM {quoted(names.schema)}.{table})")  # noqa: S608
    under = f"WITH {', '.join(covers)} " if covers else ""
    size = "pg_catalog.pg_column_size(answer.*)"
    fail = f"('{TOO_LARGE} of ' || {size} || ' bytes')::integer = 0"  # which is no number, and so an error
    bound = f"CASE WHEN {size} > {max(ROW, limits.bytes)} THEN {fail} ELSE true END"
    return f"{under}SELECT answer.* FROM (\n{query.sql}\n) AS answer WHERE {bound}"  # noqa: S608  its brackets match


def see(plan: Any, names: PgNames, named: tuple[str, ...]) -> None:
    """What PostgreSQL means to do, as EXPLAIN gives it. Raises Refused."""
    beneath = {one for table in named for one in names.beneath.get(table.lower(), ())}
    for node in _nodes(plan):
        if node.get("Node Type") in ("ModifyTable", "LockRows"):
            raise Refused("writes", "It would write or lock rows.")
        if relation := node.get("Relation Name"):
            place = (node.get("Schema", names.schema), relation)
            own = place[0] == names.schema and relation.lower() in names.listed
            if (place[0] == names.schema and relation.lower() in names.shut) or not (own or place in beneath):
                raise _unlisted(relation, names)
        for text in _expressions(node):
            for schema, call in calls(tokens(text, "postgres")):
                _function(names, schema, call.text.lower())


def explained(refusal: Refused, query: Look, names: PgNames) -> Refused:
    """A column that does not exist for PostgreSQL, because it is covered."""
    for name in sorted(_mentioned(query.tokens) & names.listed & names.concealed.keys()):
        table, rest = names.real[name], ", ".join(names.visible[name]) or "nothing"
        for column in names.concealed[name]:
            if refusal.kind == "column" and re.search(rf"\b{re.escape(column)}\b", refusal.message):
                return Refused("hidden", f"{table}.{column} is hidden; of {table} you can read: {rest}")
    return refusal


# --- functions


def _function(names: PgNames, schema: str | None, name: str) -> None:
    if name in names.unusable:
        raise Refused("function", f"The function {name} may not be called: it does more than reckon with the data.")
    if schema is not None and schema not in ("pg_catalog", names.schema.lower()):
        raise Refused("function", f"{schema}.{name}: only PostgreSQL's own functions may be called.")


def _sizes(tree: exp.Expression) -> None:
    """PostgreSQL reckons constants out before it runs anything, and its plan then holds them."""
    for call in tree.find_all(exp.Repeat, exp.Pad):
        amount = call.args.get("times") or call.args.get("expression")
        if not isinstance(amount, exp.Expression) or amount.find(exp.Column, exp.Select, exp.AggFunc):
            continue
        if not isinstance(amount, exp.Literal) or float(amount.this) > LARGE:
            raise Refused("too_large", f"It asks for a text of {amount.sql()} characters; {LARGE} are allowed.")


# --- tables


def _spelling(found: list[Token], names: PgNames) -> None:
    for place, token in enumerate(found):
        if token.text == "u" and token.kind == "word" and found[place + 1 : place + 2]:
            after = found[place + 1]
            if after.text == "&" and after.start == token.end:
                raise Refused("syntax", "U&… hides what it names. Write names and texts as they are.")
        before = found[place - 2].identifier if place >= 2 and found[place - 1].text == "." else None
        if before == names.schema.lower() and token.identifier in names.concealed:
            raise _only_alone(token.text)
        if place >= 2 and found[place - 1].text == found[place - 2].text == ":":
            _type(token.text.lower(), names)


def _type(name: str, names: PgNames) -> None:
    """Every table is a type, too, whose columns could be unfolded."""
    if name in names.concealed or name in names.shut:
        raise Refused("hidden", f"Parts of {name} are hidden: it cannot be used as a type.")


def _only_alone(table: str) -> Refused:
    return Refused("hidden", f"Parts of {table} are hidden. Write {table} without its schema's name.")


def _mentioned(found: list[Token]) -> set[str]:
    return {token.identifier for token in found if token.identifier is not None}


def _tables(tree: exp.Expression) -> list[exp.Table] | None:
    """Those of the database, not a WITH's; None where sqlglot is at its end."""
    try:
        _sizes(tree)
        sources = [source for scope in traverse_scope(tree) for source in scope.sources.values()]
        defined = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
        tables = [one for one in tree.find_all(exp.Table) if isinstance(one.this, exp.Identifier)]
    except Refused:
        raise
    except Exception:
        return None
    known = {id(source) for source in sources if isinstance(source, exp.Table)}
    return [one for one in tables if id(one) in known or one.db or one.name.lower() not in defined]


def _table(table: exp.Table, names: PgNames) -> str:
    name, schema = table.name.lower(), table.db.lower()
    if schema in _SYSTEM or (name.startswith("pg_") and name not in names.listed):
        raise Refused("table", f"{table.name} belongs to PostgreSQL itself, not to the data.")
    if table.catalog or (schema and schema != names.schema.lower()):
        raise Refused("table", f"Only tables of the schema {names.schema} may be read, not {schema}.{table.name}.")
    if name not in names.listed:
        raise _unlisted(table.name, names)
    if schema and name in names.concealed:
        raise _only_alone(table.name)
    return names.real[name]


def _unlisted(name: str, names: PgNames) -> Refused:
    if name.lower() in names.shut:
        return Refused("hidden", f"The table {name} is hidden.")
    there = ", ".join(sorted(names.real[one] for one in names.listed)) or "none"
    return Refused("table", f"There is no table {name} to be read. There are: {there}")


# --- plans


def _nodes(plan: Any) -> Iterator[dict[str, Any]]:
    """All nodes, at any depth."""
    match plan:
        case dict():
            yield plan
            for value in plan.values():
                yield from _nodes(value)
        case list():
            for value in plan:
                yield from _nodes(value)


def _expressions(node: dict[str, Any]) -> Iterator[str]:
    for key, value in node.items():
        if key in _NO_EXPRESSIONS:
            continue
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            yield from (one for one in value if isinstance(one, str))
