"""What keeps a statement on PostgreSQL to the data it may read, besides the read-only transaction.

PostgreSQL has no authorizer. Functions are judged by name on the tokens of the text, and again on the plan; tables by
sqlglot's tree, and again on the plan. `postgres_cover` keeps hidden columns away, and `postgres_plan` reads the plan.
"""

import re
from typing import Any

from sqlglot import exp
from sqlglot.optimizer.scope import traverse_scope

from sql.look import Look, calls
from sql.outcome import Refused
from sql.postgres_names import PgNames
from sql.tokens import Token

LARGE = 100_000  # characters that repeat(), lpad() and rpad() may be asked for
_SYSTEM = ("pg_catalog", "information_schema")
# Types, and functions of the same names, that turn numbers into the names of tables, functions and roles.
_NAMING = frozenset(
    f"reg{what}{end}"
    for what in ("class", "proc", "procedure", "oper", "operator", "type", "role", "namespace", "collation")
    for end in ("", "in", "out", "send", "recv")
)


def examine(query: Look, names: PgNames) -> tuple[str, ...]:
    """The listed tables it reads, as far as the text tells. Raises Refused."""
    for schema, call in calls(query.tokens):
        check_function(names, schema, call.text.lower())
    _spelling(query.tokens, names)
    check_naming(query.tokens, names)
    tables = _tables(query.tree) if query.tree is not None else None
    if tables is None:
        # The scanner tells no table from a column; but it overlooks no name, and the plan shows what is not of ours.
        some = mentioned(query.tokens)
        for name in sorted(some & (names.real.keys() - names.listed)):
            raise unlisted(name, names)
        return tuple(sorted(names.real[name] for name in some & names.listed))
    for kind in query.tree.find_all(exp.DataType) if query.tree else ():
        _type(str(kind.args.get("kind") or "").lower().rpartition(".")[2].strip('"'), names)
    return tuple(sorted({_table(table, names) for table in tables}))


def explained(refusal: Refused, query: Look, names: PgNames) -> Refused:
    """A column that does not exist for PostgreSQL, because it is covered."""
    for name in sorted(mentioned(query.tokens) & names.fenced & names.concealed.keys()):
        table, rest = names.real[name], ", ".join(names.visible[name]) or "nothing"
        for column in names.concealed[name]:
            if refusal.kind == "column" and re.search(rf"\b{re.escape(column)}\b", refusal.message):
                return Refused("hidden", f"{table}.{column} is hidden; of {table} you can read: {rest}")
        if "GROUP BY" in refusal.message:  # of a cover no key is known
            why = f"{refusal.message}. Parts of {table} are hidden, so that its key alone does not do."
            return Refused(refusal.kind, why)
    return refusal


# --- functions


def check_naming(found: list[Token], names: PgNames) -> None:
    """Refuse what turns a number into a name; the table of a row may be told where nothing is hidden."""
    for place, token in enumerate(found):
        before = [one.text for one in found[max(0, place - 4) : place] if one.text != ")"]
        if token.identifier in _NAMING and not (names.open and before[-3:] == ["tableoid", ":", ":"]):
            raise Refused("table", f"{token.text} tells names of PostgreSQL's own catalogs. Ask the data themselves.")


def check_function(names: PgNames, schema: str | None, name: str) -> None:
    """Raises Refused for one that may not be called."""
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
        before = found[place - 2].identifier if place >= 2 and found[place - 1].text == "." else None
        if before == names.schema.lower() and token.identifier in names.fenced:
            raise _only_alone(token.text)
        if place >= 2 and found[place - 1].text == found[place - 2].text == ":":
            _type(token.text.lower(), names)


def _type(name: str, names: PgNames) -> None:
    """Every table is a type, too, whose columns could be unfolded, and so are arrays of it."""
    if not {name, name.removeprefix("_")}.isdisjoint(names.concealed.keys() | names.shut):
        raise Refused("hidden", f"Parts of {name} are hidden: it cannot be used as a type.")
    for one in (name, name.removeprefix("_")):
        if one in names.real and one not in names.listed:
            raise unlisted(one, names)


def _only_alone(table: str) -> Refused:
    why = f"Parts of {table}, or of what it reads, are hidden. Write {table} without its schema's name."
    return Refused("hidden", why)


def mentioned(found: list[Token]) -> set[str]:
    """Every name in the text, whatever it stands for."""
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
        raise unlisted(table.name, names)
    if schema and name in names.fenced:
        raise _only_alone(table.name)
    return names.real[name]


def unlisted(name: str, names: PgNames) -> Refused:
    if name.lower() in names.shut:
        return Refused("hidden", f"The table {name} is hidden.")
    there = ", ".join(sorted(names.real[one] for one in names.visible)) or "none"
    return Refused("table", f"There is no table {name} to be read. There are: {there}")
