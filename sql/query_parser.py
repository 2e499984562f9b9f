"""Parses a statement without a database, and checks that it is a single query.

This layer gives clear error messages. The layers below guarantee that nothing slips through.
"""

import logging
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from typing import Any

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect as Grammar

from sql.outcome import ErrorKind, QueryLimits, QueryRefused
from sql.schema import Dialect
from sql.tokens import FAULTS, Token, tokenize

MAX_PAREN_DEPTH = 200  # parsers have a recursion limit
MAX_SUBSCRIPTS = 100  # square brackets; sqlglot takes a time that grows with the third power of their number
MAX_STEPS = 100  # of sqlglot for each token; usual statements take 3
MAX_IDENTIFIER_BYTES = 63  # PostgreSQL truncates longer identifiers, and may find another object

_QUERY_KEYWORDS: dict[Dialect, frozenset[str]] = {
    "sqlite": frozenset({"select", "with", "values"}),
    "postgres": frozenset({"select", "with", "values", "table"}),
}
_REFUSED_KEYWORDS: dict[ErrorKind, str] = {
    "writes": "insert update delete replace merge truncate copy upsert import",
    "ddl": "create drop alter rename comment grant revoke reindex security",
    "locks": "lock",
    "administration": "pragma attach detach vacuum analyze analyse set reset show begin start commit rollback end abort"
    " savepoint release do call execute prepare deallocate declare fetch move close listen notify unlisten discard"
    " checkpoint cluster refresh use kill load explain describe reassign",
}
_KIND_OF = {word: kind for kind, words in _REFUSED_KEYWORDS.items() for word in words.split()}
_REFUSED_NODES: tuple[tuple[tuple[type[exp.Expression], ...], ErrorKind, str], ...] = (
    ((exp.Insert, exp.Update, exp.Delete, exp.Merge), "writes", "It changes data"),
    ((exp.Into,), "writes", "SELECT … INTO makes a table"),
    ((exp.Create, exp.Drop, exp.Alter, exp.TruncateTable), "ddl", "It changes what the database is made of"),
    ((exp.Lock,), "locks", "FOR UPDATE and similar clauses lock rows"),
)
_ONLY = "only a single query that reads (SELECT, WITH … SELECT, VALUES) may run here."

logging.getLogger("sqlglot").setLevel(logging.ERROR)  # it warns about text that it cannot parse, which is expected here


@dataclass(frozen=True, slots=True)
class ParsedQuery:
    """One query, without the semicolons at its end. `tree` is None if sqlglot cannot parse it."""

    sql: str
    tokens: list[Token]
    tree: exp.Expression | None


def parse_query(sql: str, dialect: Dialect, limits: QueryLimits) -> ParsedQuery:
    """Parse the statement and check that it is one query. Raises QueryRefused."""
    _check_text(sql, limits)
    query_tokens = tokenize(sql, dialect)
    end = len(sql)
    while query_tokens and query_tokens[-1].text == ";" and query_tokens[-1].kind == "mark":
        end = query_tokens.pop().start
    if not query_tokens:
        raise QueryRefused("empty", "There is no statement.")
    _check_begins_as_query(query_tokens, dialect)
    if any(token.text == ";" and token.kind == "mark" for token in query_tokens):
        raise QueryRefused("several_statements", f"There is more than one statement; {_ONLY}")
    check_unambiguous(query_tokens, dialect)
    _check_brackets(query_tokens)
    text = sql[:end]  # comments stay: SQLite uses the text of an expression as its column's name
    tree = _tree(text, dialect)
    if tree is not None:
        _check_only_reads(tree)
    return ParsedQuery(text, query_tokens, tree)


def _check_text(sql: str, limits: QueryLimits) -> None:
    if len(sql) > limits.length:
        raise QueryRefused("too_long", f"It has {len(sql)} characters; {limits.length} are allowed.")
    if "\x00" in sql:
        raise QueryRefused("syntax", "It holds a NUL character, at which a database may stop reading. Take it out.")
    try:
        sql.encode()
    except UnicodeEncodeError:
        raise QueryRefused("syntax", "It holds half a character (a lone surrogate). Take it out.") from None


def _check_begins_as_query(query_tokens: list[Token], dialect: Dialect) -> None:
    first = next((token for token in query_tokens if token.text != "("), query_tokens[0])
    if first.kind == "word" and first.text in _QUERY_KEYWORDS[dialect]:
        return
    kind = _KIND_OF.get(first.text, "not_a_query") if first.kind == "word" else "not_a_query"
    raise QueryRefused(kind, f"It begins with {first.text[:40].upper()}; {_ONLY}")


def check_unambiguous(query_tokens: list[Token], dialect: Dialect) -> None:
    """Refuse text that a version of the database could tokenize differently. Raises QueryRefused."""
    for token in query_tokens:
        if (fault := FAULTS.get(token.kind)) is not None:
            raise QueryRefused("syntax", f"{token.text[:20]!r} {fault}")
    if dialect == "sqlite":
        return
    for before, token in pairwise(query_tokens):
        if before.kind == token.kind == "string":
            raise QueryRefused(
                "syntax",
                "Two texts stand side by side, and PostgreSQL may read them as one. Join them with ||.",
            )
    for token in query_tokens:
        if token.identifier is not None and len(token.text.encode()) > MAX_IDENTIFIER_BYTES:
            raise QueryRefused(
                "syntax",
                f"The name {token.text[:20]}… is longer than {MAX_IDENTIFIER_BYTES} bytes; PostgreSQL would cut it.",
            )


def _check_brackets(query_tokens: list[Token]) -> None:
    """Check that parentheses match, as the query is later wrapped in another one, and that brackets are few enough."""
    if sum(token.text == "[" for token in query_tokens if token.kind == "mark") > MAX_SUBSCRIPTS:
        raise QueryRefused("syntax", f"It has more than {MAX_SUBSCRIPTS} square brackets. Write it simpler.")
    depth = 0
    for token in query_tokens:
        depth += (token.text == "(") - (token.text == ")") if token.kind == "mark" else 0
        if depth > MAX_PAREN_DEPTH:
            raise QueryRefused(
                "syntax", f"More than {MAX_PAREN_DEPTH} parentheses stand within each other. Write it simpler."
            )
        if depth < 0:
            break
    if depth:
        raise QueryRefused("syntax", "Its parentheses do not match.")


def _tree(text: str, dialect: Dialect) -> exp.Expression | None:
    """sqlglot's tree; None if it cannot parse the text, which the database may still accept."""
    try:
        grammar = Grammar.get_or_raise(dialect)
        parsed = _parser_class(dialect)(dialect=grammar).parse(grammar.tokenize(text), text)
        trees = [tree for tree in parsed if isinstance(tree, exp.Expression)]
    except Exception:
        return None
    return trees[0] if len(trees) == 1 and not isinstance(trees[0], exp.Command) else None


@cache
def _parser_class(dialect: Dialect) -> type[Any]:
    """sqlglot's parser, which gives up after too many steps."""

    class BoundedParser(Grammar.get_or_raise(dialect).parser_class):  # type: ignore[misc]
        steps = 0

        def _advance(self, times: int = 1) -> None:
            self.steps += 1
            if self.steps > 1_000 + MAX_STEPS * self._tokens_size:  # names of types, as in date(date(…)), double them
                raise RecursionError
            super()._advance(times)

    return BoundedParser


def _check_only_reads(tree: exp.Expression) -> None:
    try:
        nodes = list(tree.walk())
    except RecursionError:  # the database itself refuses to write
        return
    for node in nodes:
        for types, kind, why in _REFUSED_NODES:
            if isinstance(node, types):
                raise QueryRefused(kind, f"{why}; {_ONLY}")


def function_calls(query_tokens: list[Token]) -> list[tuple[str | None, Token]]:
    """Every name followed by a parenthesis, with its schema, if any: all functions, and a few keywords."""
    calls: list[tuple[str | None, Token]] = []
    for place, (token, after) in enumerate(pairwise(query_tokens)):
        if token.identifier is None or after.text != "(" or after.kind != "mark":
            continue
        qualified = place >= 2 and query_tokens[place - 1].text == "." and query_tokens[place - 1].kind == "mark"
        calls.append((query_tokens[place - 2].identifier if qualified else None, token))
    return calls
