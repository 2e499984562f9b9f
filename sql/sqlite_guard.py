"""SQLite's authorizer for one statement, and a check of the compiled program.

SQLite reports every column to the authorizer, with one gap: it does not report columns that only `USING (…)` or
`NATURAL` compares, nor a table that is only joined that way. The program shows which tables are opened, and the tokens
show the two keywords, so the gap is closed without relying on a grammar.
"""

import sqlite3
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from sql.outcome import ErrorKind, QueryRefused
from sql.sqlite_names import HARMLESS_MODULES, SqliteNames
from sql.tokens import Token

_FUNCTIONS = frozenset(
    {"edit", "eval", "fts3_tokenizer", "fts5", "icu_load_collation", "load_extension", "lsdir", "mkdir", "optimize"}
    | {"readfile", "rtreecheck", "sha3_query", "sleep", "sqlite_log", "writefile", "zipfile"}
)
_ALLOWED = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_RECURSIVE}
_WRITES = {sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE}
_SESSION = {
    sqlite3.SQLITE_PRAGMA,
    sqlite3.SQLITE_ATTACH,
    sqlite3.SQLITE_DETACH,
    sqlite3.SQLITE_ANALYZE,
    sqlite3.SQLITE_TRANSACTION,
    sqlite3.SQLITE_SAVEPOINT,
}
_OPENING = {"OpenRead", "ReopenIdx"}


class SqliteGuard:
    """Guards one statement. `refusal` is the reason of a denial, since SQLite only reports "not authorized"."""

    def __init__(self, names: SqliteNames, tokens: list[Token]) -> None:
        self._names, self._tokens = names, tokens
        self._defined = _defined(tokens)
        self._views = frozenset(names.view_sources) - self._defined  # a CTE may have a view's name, but not its rights
        self.refusal: QueryRefused | None = None
        self.running = False
        """The statement runs: full-text tables may then read their own shadow tables."""
        self._read: set[str] = set()
        self._bare: set[str] = set()  # tables read without a column, as by count(*)
        self._named = {_name(token) for token in tokens}
        self._joining = {token.text for token in tokens if token.kind == "word"} & {"natural", "using"}

    @property
    def tables(self) -> tuple[str, ...]:
        """The listed tables and views that the statement names, without those that a view reads."""
        return tuple(sorted(self._names.spelling[table] for table in self._read & self._named))

    # --- while SQLite prepares

    def authorize(self, action: int, first: str | None, second: str | None, _: str | None, context: str | None) -> int:
        """SQLite's authorizer callback. Denies every action that a query does not need."""
        if action in _ALLOWED:
            return sqlite3.SQLITE_OK
        match action:
            case sqlite3.SQLITE_READ:
                refusal = self._reads((first or "").lower(), (second or "").lower(), (context or "").lower())
            case sqlite3.SQLITE_FUNCTION:
                refusal = _function((second or "").lower())
            case sqlite3.SQLITE_PRAGMA if self.running and second == "data_version":
                refusal = None
            case sqlite3.SQLITE_UPDATE if first == "sqlite_master":  # a table-valued function that registers itself
                refusal = QueryRefused("table", "A function of SQLite about itself is no table of the data.")
            case _:
                refusal = _action(action)
        if refusal is None:
            return sqlite3.SQLITE_OK
        self.refusal = self.refusal or refusal
        return sqlite3.SQLITE_DENY

    def _reads(self, table: str, column: str, context: str) -> QueryRefused | None:
        names = self._names
        if column in names.hidden_columns.get(table, ()):
            return self._concealed(table, column)
        if context in names.views & names.listed and context not in self._defined:
            self._read.add(context)
        if not column:
            self._bare.add(table)
        if table in names.listed:
            self._read.add(table)
            return None
        if table in HARMLESS_MODULES or (self.running and table in names.shadows):
            return None
        if table not in names.hidden_tables and context in self._views and table in names.view_sources[context]:
            return None
        if not column and table not in names.modules and not table.startswith(("pragma_", "sqlite_")):
            return None  # a CTE of that name without used columns; a table would show in the program
        return self._unlisted(table)

    def _concealed(self, table: str, column: str) -> QueryRefused:
        names = self._names
        if table not in names.visible:
            return QueryRefused("hidden", f"{names.spelling[table]}.{column} is hidden.")
        rest = ", ".join(names.visible[table]) or "nothing"
        return QueryRefused(
            "hidden", f"{names.spelling[table]}.{column} is hidden; of {names.spelling[table]} you can read: {rest}"
        )

    def _unlisted(self, table: str) -> QueryRefused:
        names = self._names
        if table in names.hidden_tables:
            return QueryRefused("hidden", f"The table {names.spelling[table]} is hidden.")
        if table.startswith(("sqlite_", "pragma_")) or table in names.modules:
            return QueryRefused("table", f"{table} belongs to SQLite itself, not to the data.")
        return QueryRefused("table", f"The table {names.spelling.get(table, table)} may not be read here.")

    # --- when it is prepared

    def check_program(self, program: Sequence[tuple[Any, ...]]) -> None:
        """Check SQLite's compiled program, from EXPLAIN. Raises QueryRefused."""
        names = self._names
        opened = {names.pages.get(row[3], "?") for row in program if row[1] in _OPENING and row[4] == 0}
        self._read |= opened & names.listed
        beneath = {table for view in self._read & set(names.view_sources) for table in names.view_sources[view]}
        if any(row[1] == "OpenWrite" and row[4] == 0 for row in program):
            raise QueryRefused("writes", "It would write.")
        for table in sorted(opened):
            aside = table in self._named and (
                table in self._bare or self._joining
            )  # named directly, not only through a view
            if table in names.hidden_tables or not (table in names.listed or (table in beneath and not aside)):
                raise self._unlisted(table)
        self._joins(opened, virtual=any(row[1] == "VOpen" for row in program))

    def _could_compare_unseen(self) -> bool:
        """Whether a hidden virtual table could be joined unnoticed: virtual tables open no page of the file."""
        unlisted = self._names.virtual - self._names.listed | self._names.modules
        return any(name is not None and (name in unlisted or name.startswith("pragma_")) for name in self._named)

    def _joins(self, opened: set[str], *, virtual: bool) -> None:
        """Check joins that compare columns without reporting them to the authorizer. Raises QueryRefused."""
        names = self._names
        if virtual and self._joining and self._could_compare_unseen():
            raise QueryRefused(
                "hidden", "What is hidden here could be compared unseen. Join with ON, not NATURAL or USING."
            )
        hidden_columns = {column for table in opened for column in names.hidden_columns.get(table, ())}
        if compared := hidden_columns & _using(self._tokens):
            raise QueryRefused("hidden", f"USING compares {', '.join(sorted(compared))}, and that is hidden.")
        if hidden_columns and "natural" in self._joining:
            raise QueryRefused(
                "hidden", "NATURAL JOIN compares hidden columns too. Say which are meant, with USING or ON."
            )


def _function(name: str) -> QueryRefused | None:
    if name not in _FUNCTIONS:
        return None
    return QueryRefused("function", f"The function {name} may not be called: it reaches beyond the data.")


def _action(action: int) -> QueryRefused:
    kind: ErrorKind = "writes" if action in _WRITES else "administration" if action in _SESSION else "ddl"
    return QueryRefused(
        kind, "It does more than read; only a single query that reads (SELECT, WITH … SELECT) may run here."
    )


def _name(token: Token) -> str | None:
    """The name that a token may stand for: SQLite accepts even a string where it expects a name."""
    return token.text[1:-1].replace("''", "'").lower() if token.kind == "string" else token.identifier


def _defined(tokens: list[Token]) -> frozenset[str]:
    """All names that may be CTEs: those before `AS` or a parenthesis."""
    return frozenset(
        name for token, after in pairwise(tokens) if after.text in ("as", "(") and (name := _name(token)) is not None
    )


def _using(tokens: list[Token]) -> set[str]:
    """The columns in all USING (…) clauses."""
    columns: set[str] = set()
    inside = False
    for before, token in pairwise(tokens):
        if before.text == "using" and before.kind == "word":
            inside = True
        elif token.text == ")" and token.kind == "mark":
            inside = False
        elif inside and (name := _name(token)) is not None:
            columns.add(name)
    return columns
