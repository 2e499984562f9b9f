"""The first look at a statement, without a database: is it one query, and nothing else.

What it finds is told in a person's words; that nothing slips through is the business of the layers below.
"""

import logging
from dataclasses import dataclass
from itertools import pairwise

import sqlglot
from sqlglot import exp

from sql.outcome import Kind, Limits, Refused
from sql.schema import Dialect
from sql.tokens import FAULTS, Token, tokens

DEEPEST = 200  # parentheses within each other: nobody writes more, and every parser has its end
NAME = 63  # bytes of a name, beyond which PostgreSQL cuts it off and finds what has the shorter name

_BEGINS: dict[Dialect, frozenset[str]] = {
    "sqlite": frozenset({"select", "with", "values"}),
    "postgres": frozenset({"select", "with", "values", "table"}),
}
_OTHERS: dict[Kind, str] = {
    "writes": "insert update delete replace merge truncate copy upsert import",
    "ddl": "create drop alter rename comment grant revoke reindex security",
    "locks": "lock",
    "administration": "pragma attach detach vacuum analyze analyse set reset show begin start commit rollback end abort"
    " savepoint release do call execute prepare deallocate declare fetch move close listen notify unlisten discard"
    " checkpoint cluster refresh use kill load explain describe reassign",
}
_KIND_OF = {word: kind for kind, words in _OTHERS.items() for word in words.split()}
_NODES: tuple[tuple[tuple[type[exp.Expression], ...], Kind, str], ...] = (
    ((exp.Insert, exp.Update, exp.Delete, exp.Merge), "writes", "It changes data"),
    ((exp.Into,), "writes", "SELECT … INTO makes a table"),
    ((exp.Create, exp.Drop, exp.Alter, exp.TruncateTable), "ddl", "It changes what the database is made of"),
    ((exp.Lock,), "locks", "FOR UPDATE and its kin lock rows against others"),
)
_ONLY = "only a single query that reads (SELECT, WITH … SELECT, VALUES) may run here."

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it would warn of what we refuse anyway


@dataclass(frozen=True, slots=True)
class Look:
    """One query: its text without a closing semicolon, its tokens, and its tree where sqlglot could read it."""

    sql: str
    tokens: list[Token]
    tree: exp.Expression | None


def look(sql: str, dialect: Dialect, limits: Limits) -> Look:
    """Raises Refused."""
    _readable(sql, limits)
    found = tokens(sql, dialect)
    end = len(sql)
    while found and found[-1].text == ";" and found[-1].kind == "mark":
        end = found.pop().start
    if not found:
        raise Refused("empty", "There is no statement.")
    _begins_as_query(found, dialect)
    if any(token.text == ";" and token.kind == "mark" for token in found):
        raise Refused("several_statements", f"There is more than one statement; {_ONLY}")
    unambiguous(found, dialect)
    _brackets(found)
    text = sql[:end]  # with the comments before it: SQLite takes them into the names of columns
    tree = _tree(text, dialect)
    if tree is not None:
        _only_reads(tree)
    return Look(text, found, tree)


def _readable(sql: str, limits: Limits) -> None:
    if len(sql) > limits.length:
        raise Refused("too_long", f"It has {len(sql)} characters; {limits.length} are allowed.")
    if "\x00" in sql:
        raise Refused("syntax", "It holds a NUL character, at which a database may stop reading. Take it out.")
    try:
        sql.encode()
    except UnicodeEncodeError:
        raise Refused("syntax", "It holds half a character (a lone surrogate). Take it out.") from None


def _begins_as_query(found: list[Token], dialect: Dialect) -> None:
    first = next((token for token in found if token.text != "("), found[0])
    if first.kind == "word" and first.text in _BEGINS[dialect]:
        return
    kind = _KIND_OF.get(first.text, "not_a_query") if first.kind == "word" else "not_a_query"
    raise Refused(kind, f"It begins with {first.text[:40].upper()}; {_ONLY}")


def unambiguous(found: list[Token], dialect: Dialect) -> None:
    """Refuse what the database, or another version of it, could cut into other tokens."""
    for token in found:
        if (fault := FAULTS.get(token.kind)) is not None:
            raise Refused("syntax", f"{token.text[:20]!r} {fault}")
    if dialect == "sqlite":
        return
    for before, token in pairwise(found):
        if before.kind == token.kind == "string":
            why = "PostgreSQL may read them as one. Write || between them, or one text."
            raise Refused("syntax", f"Two texts stand side by side, and {why}")
    for token in found:
        if token.identifier is not None and len(token.text.encode()) > NAME:
            raise Refused(
                "syntax", f"The name {token.text[:20]}… is longer than {NAME} bytes; PostgreSQL would cut it."
            )


def _brackets(found: list[Token]) -> None:
    """They match, so that nothing can end before we mean it to, and do not go too deep."""
    depth = 0
    for token in found:
        depth += (token.text == "(") - (token.text == ")") if token.kind == "mark" else 0
        if depth > DEEPEST:
            raise Refused("syntax", f"More than {DEEPEST} parentheses stand within each other. Write it simpler.")
        if depth < 0:
            break
    if depth:
        raise Refused("syntax", "Its parentheses do not match.")


def _tree(text: str, dialect: Dialect) -> exp.Expression | None:
    """None where sqlglot cannot read it: it fails in many ways, and the database may know better."""
    try:
        trees = [tree for tree in sqlglot.parse(text, read=dialect) if isinstance(tree, exp.Expression)]
    except Exception:
        return None
    return trees[0] if len(trees) == 1 and not isinstance(trees[0], exp.Command) else None


def _only_reads(tree: exp.Expression) -> None:
    try:
        nodes = list(tree.walk())
    except RecursionError:
        return
    for node in nodes:
        for types, kind, why in _NODES:
            if isinstance(node, types) and not _is_function(node):
                raise Refused(kind, f"{why}; {_ONLY}")


def _is_function(node: exp.Expression) -> bool:
    """sqlglot has a class for the function INSERT(…) of other databases, too."""
    return isinstance(node, exp.Func)


def calls(found: list[Token]) -> list[tuple[str | None, Token]]:
    """Every name with a parenthesis after it, and the schema before it, if any: all functions, and a few words more."""
    answer: list[tuple[str | None, Token]] = []
    for place, (token, after) in enumerate(pairwise(found)):
        if token.identifier is None or after.text != "(" or after.kind != "mark":
            continue
        qualified = place >= 2 and found[place - 1].text == "." and found[place - 1].kind == "mark"
        answer.append((found[place - 2].identifier if qualified else None, token))
    return answer
