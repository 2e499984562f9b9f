"""Restricts a PostgreSQL query to the data it may read, in addition to the read-only transaction.

PostgreSQL has no authorizer. Functions are checked by name on the tokens and again on the plan, tables on sqlglot's
tree and again on the plan. `postgres_cover` hides columns, and `postgres_plan` checks the plan.
"""

import re
from typing import Any

from sqlglot import exp
from sqlglot.optimizer.scope import traverse_scope

from sql.outcome import QueryRefused
from sql.postgres_names import PgNames
from sql.query_parser import ParsedQuery, function_calls
from sql.spelling import quoted
from sql.tokens import Token

MAX_TEXT = 100_000  # characters that repeat(), lpad() and rpad() may produce, or format() for one value
MAX_TABLES = 500  # in one query; sqlglot takes a time that grows with the square of their number
_WIDE = re.compile(r"%(?:\d+\$)?-*(?:\*|\d{6,})")  # a width of format(): from an argument, or of six digits
_SYSTEM = ("pg_catalog", "information_schema")
_MISSING = re.compile(r'(?:column|relation) "?([^"]+?)"? does not exist')
# Types and functions of the same names that turn numbers into names of tables, functions and roles.
_NAMING = frozenset(
    f"reg{what}{end}"
    for what in ("class", "proc", "procedure", "oper", "operator", "type", "role", "namespace", "collation")
    for end in ("", "in", "out", "send", "recv")
)


def check_query(query: ParsedQuery, names: PgNames) -> tuple[str, ...]:
    """The listed tables that the text mentions. Raises QueryRefused."""
    for schema, call in function_calls(query.tokens):
        check_function(names, schema, call.text.lower())
        if call.text.lower() == "format":
            _check_width([token for token in query.tokens if token.start >= call.end][1:3])
    _check_spelling(query.tokens, names)
    check_naming(query.tokens, names)
    tables = _tables(query.tree) if query.tree is not None else None
    if tables is None:
        # The tokens do not tell tables from columns, but contain every name; the plan shows all other objects.
        some = mentioned(query.tokens)
        for name in sorted(some & (names.spelling.keys() - names.listed)):
            raise unlisted(name, names)
        return tuple(sorted(names.spelling[name] for name in some & names.listed))
    for kind in query.tree.find_all(exp.DataType) if query.tree else ():
        _check_type(str(kind.args.get("kind") or "").lower().rpartition(".")[2].strip('"'), names)
    return tuple(sorted({_table(table, names) for table in tables}))


def explain_refusal(refusal: QueryRefused, query: ParsedQuery, names: PgNames) -> QueryRefused:
    """A clearer refusal: that a column is hidden, or how the names that are meant are written."""
    for name in sorted(mentioned(query.tokens) & names.fenced & names.hidden_columns.keys()):
        table, rest = names.spelling[name], ", ".join(names.visible[name]) or "nothing"
        for column in names.hidden_columns[name]:
            if refusal.kind == "column" and re.search(rf"\b{re.escape(column)}\b", refusal.message):
                return QueryRefused("hidden", f"{table}.{column} is hidden; of {table} you can read: {rest}")
        if "GROUP BY" in refusal.message:  # PostgreSQL does not know the primary key of a cover
            why = f"{refusal.message}. Parts of {table} are hidden, so that its key alone does not do."
            return QueryRefused(refusal.kind, why)
    columns = [column for name in mentioned(query.tokens) & names.listed for column in names.visible.get(name, ())]
    missing = _MISSING.search(refusal.message)
    before, _, wrong = missing[1].rpartition(".") if missing else ("", "", "")
    match refusal.kind:
        case "table" if wrong:
            hint = names.meant_table(query.tokens, wrong, before)
        case "column" if columns:
            hint = names.spell.hint(query.tokens, wrong, columns)
        case "syntax":
            hint = names.spell.hint(query.tokens, "", [*names.tables, *columns])
        case _:
            hint = ""
    return QueryRefused(refusal.kind, f"{refusal.message}. {hint}") if hint else refusal


# --- functions


def check_naming(query_tokens: list[Token], names: PgNames) -> None:
    """Refuse types that turn numbers into names, except `tableoid::regclass` if nothing is hidden."""
    for place, token in enumerate(query_tokens):
        before = [
            token_before.text for token_before in query_tokens[max(0, place - 4) : place] if token_before.text != ")"
        ]
        if token.identifier in _NAMING and not (names.is_unrestricted and before[-3:] == ["tableoid", ":", ":"]):
            raise QueryRefused(
                "table", f"{token.text} tells names of PostgreSQL's own catalogs. Ask the data themselves."
            )


def check_function(names: PgNames, schema: str | None, name: str) -> None:
    """Raises QueryRefused for a function that may not be called."""
    if name in names.unusable:
        raise QueryRefused("function", f"The function {name} may not be called: it does more than compute.")
    if schema is not None and schema not in ("pg_catalog", names.schema.lower()):
        raise QueryRefused("function", f"{schema}.{name}: only PostgreSQL's own functions may be called.")


def _check_width(arguments: list[Token]) -> None:
    """Refuse a format() whose first argument is not one plain text, or asks for much space: it runs uninterrupted."""
    text, after = arguments
    if text.kind != "string" or after.text not in (",", ")") or "\\" in text.text or _WIDE.search(text.text):
        why = f"format() needs a text with widths below {MAX_TEXT} as its first argument. Write the text itself there."
        raise QueryRefused("too_large", why)


def _check_sizes(tree: exp.Expression) -> None:
    """Refuse large constant texts: PostgreSQL evaluates constants while planning, and the plan contains them."""
    for call in tree.find_all(exp.Repeat, exp.Pad):
        amount = call.args.get("times") or call.args.get("expression")
        if not isinstance(amount, exp.Expression) or amount.find(exp.Column, exp.Select, exp.AggFunc):
            continue
        if (size := _constant_value(amount)) is None or size > MAX_TEXT:
            raise QueryRefused("too_large", f"It asks for a text of {amount.sql()} characters; {MAX_TEXT} are allowed.")


def _constant_value(amount: Any) -> float | None:
    """An upper bound of a constant number; None if it takes more than basic arithmetic."""
    match amount:
        case exp.Literal():
            return len(amount.this) if amount.is_string else float(amount.this)
        case exp.Paren() | exp.Cast() | exp.Length():
            return _constant_value(amount.this)
        case exp.Neg() if (left := _constant_value(amount.this)) is not None:
            return -left
        case exp.Add() | exp.Sub() | exp.Mul() | exp.Div():
            left, right = _constant_value(amount.this), _constant_value(amount.expression)
            if left is not None and right is not None:
                return abs(left) * abs(right) if isinstance(amount, exp.Mul) else abs(left) + abs(right)
    return None


# --- tables


def _check_spelling(query_tokens: list[Token], names: PgNames) -> None:
    for place, token in enumerate(query_tokens):
        before = query_tokens[place - 2].identifier if place >= 2 and query_tokens[place - 1].text == "." else None
        if before == names.schema.lower() and token.identifier in names.fenced:
            raise _only_alone(token.text)
        if place >= 2 and query_tokens[place - 1].text == query_tokens[place - 2].text == ":":
            _check_type(token.text.lower(), names)


def _check_type(name: str, names: PgNames) -> None:
    """Refuse a table's row type and its array type, through which hidden columns could be read."""
    if not {name, name.removeprefix("_")}.isdisjoint(names.hidden_columns.keys() | names.hidden_tables):
        raise QueryRefused("hidden", f"Parts of {name} are hidden: it cannot be used as a type.")
    for type_name in (name, name.removeprefix("_")):
        if type_name in names.spelling and type_name not in names.listed:
            raise unlisted(type_name, names)


def _only_alone(table: str) -> QueryRefused:
    why = f"Parts of {table}, or of what it reads, are hidden. Write {table} without its schema's name."
    return QueryRefused("hidden", why)


def mentioned(query_tokens: list[Token]) -> set[str]:
    """All names in the text, whatever they refer to."""
    return {token.identifier for token in query_tokens if token.identifier is not None}


def _tables(tree: exp.Expression) -> list[exp.Table] | None:
    """The tables of the tree that are not CTEs; None if sqlglot cannot resolve them."""
    try:
        _check_sizes(tree)
        if sum(1 for _ in tree.find_all(exp.Table)) > MAX_TABLES:
            return None
        sources = [source for scope in traverse_scope(tree) for source in scope.sources.values()]
        defined = {cte.alias.lower() for cte in tree.find_all(exp.CTE)}
        tables = [table for table in tree.find_all(exp.Table) if isinstance(table.this, exp.Identifier)]
    except QueryRefused:
        raise
    except Exception:
        return None
    known = {id(source) for source in sources if isinstance(source, exp.Table)}
    return [table for table in tables if id(table) in known or table.db or table.name.lower() not in defined]


def _table(table: exp.Table, names: PgNames) -> str:
    name, schema = table.name.lower(), table.db.lower()
    if schema in _SYSTEM or (name.startswith("pg_") and name not in names.listed):
        raise QueryRefused("table", f"{table.name} belongs to PostgreSQL itself, not to the data.")
    if name in names.listed and not schema and not table.this.quoted and name in names.keywords:
        written = " or ".join(quoted(table) for table in names.tables if table.lower() == name)
        raise QueryRefused("table", f"{name} is a word of SQL. The table is written {written}.")
    if schema and not table.catalog and names.open_to(_folded(table.args["db"])):
        return f"{_folded(table.args['db'])}.{_folded(table.this)}"
    if table.catalog or (schema and schema != names.schema.lower()):
        why = f"Only tables of the schema {names.schema} may be read, not {names.spell(table.db)}.{table.name}."
        raise QueryRefused("table", f"{why} The first schema of the role's search_path is the one that is read.")
    if name not in names.listed:
        raise unlisted(table.name, names)
    if schema and name in names.fenced:
        raise _only_alone(table.name)
    exact = _folded(table.this)
    return exact if exact in names.tables else names.spelling[name]


def _folded(identifier: Any) -> str:
    """The name as PostgreSQL reads it."""
    return str(identifier.name if identifier.args.get("quoted") else identifier.name.lower())


def unlisted(name: str, names: PgNames) -> QueryRefused:
    if name.lower() in names.hidden_tables:
        return QueryRefused("hidden", f"The table {name} is hidden.")
    return QueryRefused("table", f"There is no table {name} to be read. {names.meant_table((), name)}")
