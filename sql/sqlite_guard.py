"""What SQLite itself is asked to refuse, while it makes a program of a statement, and a look at that program.

The authorizer is told of every column by name, with one gap: a column that only `USING (…)` or `NATURAL` compares is
not mentioned, and a table that is only joined so is not mentioned at all. The program tells which tables are opened,
and the scanner finds the two words; so the gap is closed without trusting anybody's grammar.
"""

import sqlite3
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

from sql.outcome import Kind, Refused
from sql.sqlite_names import HARMLESS_MODULES, Names
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


class Guard:
    """Of one statement on one connection; `refusal` says what it met, as SQLite only knows "not authorized"."""

    def __init__(self, names: Names, tokens: list[Token]) -> None:
        self._names, self._tokens = names, tokens
        self._defined = _defined(tokens)
        self._views = frozenset(names.beneath) - self._defined  # a CTE may take a view's name, not its rights
        self.refusal: Refused | None = None
        self.running = False
        """Seen through: full-text tables read tables of their own while it runs."""
        self._read: set[str] = set()
        self._bare: set[str] = set()  # read without a column, as count(*) does
        self._named = {_name(token) for token in tokens}
        self._joining = {token.text for token in tokens if token.kind == "word"} & {"natural", "using"}

    @property
    def tables(self) -> tuple[str, ...]:
        """The listed tables and views it reads by name, not those that a view reads for it."""
        return tuple(sorted(self._names.real[table] for table in self._read & self._named))

    # --- while SQLite prepares

    def authorize(self, action: int, one: str | None, two: str | None, _: str | None, context: str | None) -> int:
        """SQLite's question; anything but a query's own actions is denied."""
        if action in _ALLOWED:
            return sqlite3.SQLITE_OK
        match action:
            case sqlite3.SQLITE_READ:
                refusal = self._reads((one or "").lower(), (two or "").lower(), (context or "").lower())
            case sqlite3.SQLITE_FUNCTION:
                refusal = _function((two or "").lower())
            case sqlite3.SQLITE_PRAGMA if self.running and two == "data_version":
                refusal = None
            case sqlite3.SQLITE_UPDATE if one == "sqlite_master":  # a table-valued function that makes itself known
                refusal = Refused("table", "A function of SQLite about itself is no table of the data.")
            case _:
                refusal = _action(action)
        if refusal is None:
            return sqlite3.SQLITE_OK
        self.refusal = self.refusal or refusal
        return sqlite3.SQLITE_DENY

    def _reads(self, table: str, column: str, context: str) -> Refused | None:
        names = self._names
        if column in names.concealed.get(table, ()):
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
        if table not in names.shut and context in self._views and table in names.beneath[context]:
            return None
        if not column and table not in names.modules and not table.startswith(("pragma_", "sqlite_")):
            return None  # a CTE of that name, of which no column is used; were it a table, the program would tell
        return self._unlisted(table)

    def _concealed(self, table: str, column: str) -> Refused:
        names = self._names
        if table not in names.visible:
            return Refused("hidden", f"{names.real[table]}.{column} is hidden.")
        rest = ", ".join(names.visible[table]) or "nothing"
        return Refused("hidden", f"{names.real[table]}.{column} is hidden; of {names.real[table]} you can read: {rest}")

    def _unlisted(self, table: str) -> Refused:
        names = self._names
        if table in names.shut:
            return Refused("hidden", f"The table {names.real[table]} is hidden.")
        if table.startswith(("sqlite_", "pragma_")) or table in names.modules:
            return Refused("table", f"{table} belongs to SQLite itself, not to the data.")
        return Refused("table", f"The table {names.real.get(table, table)} may not be read here.")

    # --- when it is prepared

    def see(self, program: Sequence[tuple[Any, ...]]) -> None:
        """SQLite's program for the statement, as EXPLAIN gives it. Raises Refused."""
        names = self._names
        opened = {names.pages.get(row[3], "?") for row in program if row[1] in _OPENING and row[4] == 0}
        self._read |= opened & names.listed
        beneath = {table for view in self._read & set(names.beneath) for table in names.beneath[view]}
        if any(row[1] == "OpenWrite" and row[4] == 0 for row in program):
            raise Refused("writes", "It would write.")
        for table in sorted(opened):
            aside = table in self._named and (table in self._bare or self._joining)  # and not only through the view
            if table in names.shut or not (table in names.listed or (table in beneath and not aside)):
                raise self._unlisted(table)
        self._joins(opened, virtual=any(row[1] == "VOpen" for row in program))

    def _could_compare_unseen(self) -> bool:
        """Virtual tables open no page of the file: a hidden one, or SQLite's own, would not be noticed."""
        kept_back = self._names.virtual - self._names.listed | self._names.modules
        return any(name is not None and (name in kept_back or name.startswith("pragma_")) for name in self._named)

    def _joins(self, opened: set[str], *, virtual: bool) -> None:
        """Columns that are compared without being named to the authorizer."""
        names = self._names
        if virtual and self._joining and self._could_compare_unseen():
            raise Refused("hidden", "What is hidden here could be compared unseen. Join with ON, not NATURAL or USING.")
        closed = {column for table in opened for column in names.concealed.get(table, ())}
        if compared := closed & _using(self._tokens):
            raise Refused("hidden", f"USING compares {', '.join(sorted(compared))}, and that is hidden.")
        if closed and "natural" in self._joining:
            raise Refused("hidden", "NATURAL JOIN compares hidden columns too. Say which are meant, with USING or ON.")


def _function(name: str) -> Refused | None:
    if name not in _FUNCTIONS:
        return None
    return Refused("function", f"The function {name} may not be called: it reaches beyond the data.")


def _action(action: int) -> Refused:
    kind: Kind = "writes" if action in _WRITES else "administration" if action in _SESSION else "ddl"
    return Refused(kind, "It does more than read; only a single query that reads (SELECT, WITH … SELECT) may run here.")


def _name(token: Token) -> str | None:
    """SQLite takes even a string for a name, where only a name can stand."""
    return token.text[1:-1].replace("''", "'").lower() if token.kind == "string" else token.identifier


def _defined(tokens: list[Token]) -> frozenset[str]:
    """Every name that may be a CTE's: what comes before `AS (` or has a parenthesis of its own."""
    return frozenset(
        name for token, after in pairwise(tokens) if after.text in ("as", "(") and (name := _name(token)) is not None
    )


def _using(tokens: list[Token]) -> set[str]:
    """The columns named by every USING (…)."""
    found: set[str] = set()
    inside = False
    for before, token in pairwise(tokens):
        if before.text == "using" and before.kind == "word":
            inside = True
        elif token.text == ")" and token.kind == "mark":
            inside = False
        elif inside and (name := _name(token)) is not None:
            found.add(name)
    return found
