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
from sql.postgres_names import PgNames, quoted, reaches
from sql.tokens import Token, tokens

ROW = 2_000_000  # bytes of one row, at which the server stops, however few bytes a result may have
LARGE = 100_000  # characters that repeat(), lpad() and rpad() may be asked for
_SYSTEM = ("pg_catalog", "information_schema")
# Types, and functions of the same names, that turn numbers into the names of tables, functions and roles.
_NAMING = frozenset(
    f"reg{what}{end}"
    for what in ("class", "proc", "procedure", "oper", "operator", "type", "role", "namespace", "collation")
    for end in ("", "in", "out", "send", "recv")
)
_NO_EXPRESSIONS = {"Alias", "CTE Name", "Index Name", "Relation Name", "Schema", "Subplan Name", "Node Type"}


def examine(query: Look, names: PgNames) -> tuple[str, ...]:
    """The listed tables it reads, as far as the text tells. Raises Refused."""
    for schema, call in calls(query.tokens):
        _function(names, schema, call.text.lower())
    _spelling(query.tokens, names)
    for place, token in enumerate(query.tokens):
        which_part = names.open and [one.text for one in query.tokens[max(0, place - 3) : place]] == [
            "tableoid",
            ":",
            ":",
        ]
        if token.identifier in _NAMING and not which_part:
            raise Refused("table", f"{token.text} tells names of PostgreSQL's own catalogs. Ask the data themselves.")
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
    OFFSET 0 is a fence: without it the bound, and with it all that is selected, would be reckoned beneath the query's
    joins, for rows that these leave out.
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
    fenced = f"SELECT whole.* FROM (\n{query.sql}\n) AS whole OFFSET 0"  # noqa: S608  its brackets match
    return f"{under}SELECT answer.* FROM ({fenced}) AS answer WHERE {bound}"  # noqa: S608


def see(plan: Any, names: PgNames, named: tuple[str, ...], sql: str) -> None:
    """What PostgreSQL means to do, as EXPLAIN gives it. Raises Refused."""
    beneath = {one for table in named for one in names.beneath.get(table.lower(), ())}
    for node in _nodes(plan):
        if node.get("Node Type") in ("ModifyTable", "LockRows"):
            raise Refused("writes", "It would write or lock rows.")
        if relation := node.get("Relation Name"):
            place = (node.get("Schema", names.schema), relation)
            own = names.open_to(place[0]) or (place[0] == names.schema and relation.lower() in names.listed)
            if (place[0] == names.schema and relation.lower() in names.shut) or not (own or place in beneath):
                raise _unlisted(relation, names)
        for text in _expressions(node):
            for schema, call in calls(tokens(text, "postgres")):
                if not _owners(names, call.text.lower(), sql):
                    _function(names, schema, call.text.lower())


def explained(refusal: Refused, query: Look, names: PgNames) -> Refused:
    """A column that does not exist for PostgreSQL, because it is covered."""
    for name in sorted(_mentioned(query.tokens) & names.listed & names.concealed.keys()):
        table, rest = names.real[name], ", ".join(names.visible[name]) or "nothing"
        for column in names.concealed[name]:
            if refusal.kind == "column" and re.search(rf"\b{re.escape(column)}\b", refusal.message):
                return Refused("hidden", f"{table}.{column} is hidden; of {table} you can read: {rest}")
        if "GROUP BY" in refusal.message:  # of a cover no key is known
            why = f"{refusal.message}. Parts of {table} are hidden, so that its key alone does not do."
            return Refused(refusal.kind, why)
    return refusal


# --- functions


def _owners(names: PgNames, name: str, sql: str) -> bool:
    """Only in a view or a policy of the database: its owner's word, as long as it cannot tell what is hidden."""
    if re.search(rf"\b{re.escape(name)}\b", sql, re.IGNORECASE):
        return False
    return name == "current_setting" or (names.open and not reaches(name))


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
        if (size := _reckoned(amount)) is None or size > LARGE:
            raise Refused("too_large", f"It asks for a text of {amount.sql()} characters; {LARGE} are allowed.")


def _reckoned(amount: Any) -> float | None:
    """A number that is written out; None where that takes more than the four rules."""
    match amount:
        case exp.Literal():
            return len(amount.this) if amount.is_string else float(amount.this)
        case exp.Paren() | exp.Cast() | exp.Length():
            return _reckoned(amount.this)
        case exp.Neg() if (one := _reckoned(amount.this)) is not None:
            return -one
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div():
            one, other = _reckoned(amount.this), _reckoned(amount.expression)
            if one is not None and other is not None:
                return abs(one) * abs(other) if isinstance(amount, exp.Mul) else abs(one) + abs(other)
    return None


# --- tables


def _spelling(found: list[Token], names: PgNames) -> None:
    for place, token in enumerate(found):
        if token.text == "u" and token.kind == "word" and found[place + 1 : place + 2]:
            after = found[place + 1]
            if after.text == "&" and after.start == token.end and _quotes(found[place + 2 : place + 3], after.end):
                raise Refused("syntax", "U&… hides what it names. Write names and texts as they are.")
        before = found[place - 2].identifier if place >= 2 and found[place - 1].text == "." else None
        if before == names.schema.lower() and token.identifier in names.concealed:
            raise _only_alone(token.text)
        if place >= 2 and found[place - 1].text == found[place - 2].text == ":":
            _type(token.text.lower(), names)


def _quotes(after: list[Token], place: int) -> bool:
    return any(token.start == place and token.kind in ("name", "string") for token in after)


def _type(name: str, names: PgNames) -> None:
    """Every table is a type, too, whose columns could be unfolded, and so are arrays of it."""
    if not {name, name.removeprefix("_")}.isdisjoint(names.concealed.keys() | names.shut):
        raise Refused("hidden", f"Parts of {name} are hidden: it cannot be used as a type.")
    for one in (name, name.removeprefix("_")):
        if one in names.real and one not in names.listed:
            raise _unlisted(one, names)


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
    if schema and not table.catalog and names.open_to(table.db):
        return f"{table.db}.{table.name}"
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
    there = ", ".join(sorted(names.real[one] for one in names.visible)) or "none"
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
