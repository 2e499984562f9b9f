"""A restricted read-only connection to an SQLite file, with limits.

It is blocking code without threads: `sql/sqlite_process.py` runs it in a process that can be killed.
"""

import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from sql.json_rows import RowCollector
from sql.outcome import (
    BadDatabase,
    ErrorKind,
    QueryCheck,
    QueryFailed,
    QueryLimits,
    QueryRefused,
    QueryResult,
    SqlError,
)
from sql.query_parser import ParsedQuery
from sql.schema import Hidden
from sql.spelling import Spelling, quoted
from sql.sqlite_guard import SqliteGuard
from sql.sqlite_names import HARMLESS_MODULES, SqliteNames, read_names, version
from sql.tokens import Token, tokenize

MAX_VALUE = 20_000_000  # bytes of one value during evaluation
CLOCK_STEPS = 2_000  # SQLite instructions between two checks of the deadline
_LIMITS = {
    sqlite3.SQLITE_LIMIT_LENGTH: MAX_VALUE,
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 1_000,
}
_BEFORE_RUNNING: tuple[tuple[str, ErrorKind], ...] = (
    (r"no such table", "table"),
    (r"no such column|ambiguous column|cannot join using column|has no column", "column"),
    (r"no such function|wrong number of arguments|misuse of|may not be used as a window", "function"),
    (r"no such module|no such table-valued", "table"),
    (r"one statement at a time", "several_statements"),
    (r"syntax error|unrecognized token|incomplete input|parser stack|Expression tree|too many|bindings|", "syntax"),
)
_KEYWORDS = (
    "add all alter and as autoincrement between case cast check collate commit constraint create current_date"
    " current_time current_timestamp default deferrable delete distinct drop else escape except exists foreign from"
    " group having in index insert intersect into is isnull join limit not nothing notnull null on or order primary"
    " raise references returning select set table then to transaction union unique update using values when where"
)
SPELLING = Spelling("sqlite", _KEYWORDS.split())


class SqliteReader:
    """One connection, opened in the constructor. Raises BadDatabase."""

    def __init__(self, path: str, hidden: Hidden, limits: QueryLimits) -> None:
        self.hidden, self._limits = hidden, limits
        self._deadline = float("inf")
        self._guard: SqliteGuard | None = None
        self._names = SqliteNames(version=-1)
        self.connection = _open(path)
        self.connection.set_progress_handler(lambda: time.monotonic() > self._deadline, CLOCK_STEPS)
        self.connection.set_authorizer(self._authorize)

    def check(self, query: ParsedQuery) -> QueryCheck:
        """Prepare the query without running it."""
        try:
            with self.within(self._limits.seconds):
                guard = self._prepare(query)
        except SqlError as error:
            return QueryCheck(ok=False, kind=error.kind, error=error.message)
        return QueryCheck(ok=True, tables=guard.tables)

    def run(self, query: ParsedQuery) -> QueryResult:
        """Run the query. Raises QueryRefused and QueryFailed."""
        began = time.monotonic()
        with self.within(self._limits.seconds):
            guard = self._prepare(query)
            guard.running = True
            with self._armed(guard):
                columns, collector = self._fetch(query.sql)
        types = tuple(_type(collector, place) for place in range(len(columns)))
        seconds = round(time.monotonic() - began, 4)
        return QueryResult(
            columns=columns, types=types, rows=tuple(collector.rows), truncated=collector.truncated, seconds=seconds
        )

    def close(self) -> None:
        self.connection.close()

    def names(self) -> SqliteNames:
        """The current names of the file; constant within a transaction."""
        if version(self.connection) != self._names.version:
            self._names = read_names(self.connection, self.hidden)
            self._leave_out_views()
        return self._names

    def _leave_out_views(self) -> None:
        """Remove views that read hidden data, and views that no longer work."""
        names = self._names
        hidden_views: set[str] = set()
        broken: set[str] = set()
        for view in names.views & names.listed:
            sql = f"SELECT * FROM {quoted(names.spelling[view])}"  # noqa: S608
            try:
                self._prepare(ParsedQuery(sql, tokenize(sql, "sqlite"), None))
            except QueryRefused as refusal:
                (hidden_views if refusal.kind == "hidden" else broken).add(view)
        self._names = replace(
            names, listed=names.listed - hidden_views - broken, hidden_tables=names.hidden_tables | hidden_views
        )

    @contextmanager
    def within(self, seconds: float) -> Iterator[None]:
        """A read transaction with a timeout. Raises QueryFailed."""
        self._deadline = time.monotonic() + seconds
        try:
            self.connection.execute("BEGIN")
            self.names()
            yield
        except (sqlite3.Error, MemoryError, OverflowError) as error:
            raise _failure(error, seconds) from error
        finally:
            self._deadline = float("inf")
            if self.connection.in_transaction:
                self.connection.rollback()

    def _prepare(self, query: ParsedQuery) -> SqliteGuard:
        guard = SqliteGuard(self._names, query.tokens)
        with self._armed(guard):
            try:
                program = self.connection.execute(f"EXPLAIN {_with_names_only(query)}").fetchall()
            except (sqlite3.Error, ValueError) as error:
                raise guard.refusal or self._preparation_error(error, query.tokens) from error
        guard.check_program(program)
        return guard

    @contextmanager
    def _armed(self, guard: SqliteGuard) -> Iterator[None]:
        self._guard = guard
        try:
            yield
        except sqlite3.Error:
            if guard.refusal:
                raise guard.refusal from None
            raise
        finally:
            self._guard = None

    def _authorize(
        self, action: int, first: str | None, second: str | None, db: str | None, context: str | None
    ) -> int:
        return self._guard.authorize(action, first, second, db, context) if self._guard else sqlite3.SQLITE_OK

    def _fetch(self, sql: str) -> tuple[tuple[str, ...], RowCollector]:
        collector = RowCollector(self._limits)
        self.connection.text_factory = _decode_text
        cursor = self.connection.execute(sql)
        try:
            columns = tuple(column[0] for column in cursor.description or ())
            while rows := cursor.fetchmany(50):
                if collector.add(rows):
                    break
        finally:
            cursor.close()
            self.connection.text_factory = _decode_replacing
        return columns, collector

    def _preparation_error(self, error: Exception, tokens: list[Token]) -> SqlError:
        """The error of a statement that cannot be prepared, with the names that it may mean."""
        words = str(error)
        if _code(error) == sqlite3.SQLITE_INTERRUPT:
            return _failure(error, self._limits.seconds)
        kind = next(kind for pattern, kind in _BEFORE_RUNNING if re.search(pattern, words))
        names, wrong = self._names, words.partition(": ")[2] if words.startswith("no such") else ""
        tables = [names.spelling[table] for table in names.listed]
        named = {token.identifier for token in tokens}
        columns = [column for table in names.listed if table in named for column in names.visible[table]]
        known = {"table": tables, "column": columns, "syntax": tables + columns}.get(kind, [])
        if known and (hint := SPELLING.hint(tokens, wrong.rpartition(".")[2], known)):
            words += f". {hint}"
        if kind == "column" and any(token.kind == "name" and token.text == wrong for token in tokens):
            text = wrong.replace("'", "''")
            words += f". A text stands in single quotes: '{text}'"
        return QueryRefused(kind, words)


def _with_names_only(query: ParsedQuery) -> str:
    """The query with `name` for each "name", since SQLite takes "name" for a text if there is no such column.

    Where this can be prepared, the query itself means the same. Views keep what their owner sees in them.
    """
    parts, end = [], 0
    for token in query.tokens:
        if token.kind == "name" and query.sql[token.start] == '"':
            parts += [query.sql[end : token.start], "`" + token.text.replace("`", "``") + "`"]
            end = token.end
    return "".join([*parts, query.sql[end:]])


def _open(path: str) -> sqlite3.Connection:
    place = Path(path)
    if not place.is_file():
        raise BadDatabase(
            f"There is no file {path}. Give the path of an SQLite database, like sqlite:///folder/name.db"
        )
    try:
        connection = sqlite3.connect(
            f"{place.resolve().as_uri()}?mode=ro", uri=True, isolation_level=None, cached_statements=0, timeout=5
        )
        connection.text_factory = _decode_replacing
        for pragma in ("query_only=ON", "cell_size_check=ON", "mmap_size=0"):
            connection.execute(f"PRAGMA {pragma}")
        for module in HARMLESS_MODULES:  # connected now, they need no authorization later
            with suppress(sqlite3.OperationalError):  # not every SQLite build has each
                connection.execute(f"SELECT 1 FROM {module}(1) LIMIT 1").fetchall()  # noqa: S608
        version(connection)
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()
    except sqlite3.Error as error:
        raise BadDatabase(f"{path} cannot be read as an SQLite database: {error}. Is it one?") from error
    for limit, value in _LIMITS.items():
        connection.setlimit(limit, value)
    return connection


def _decode_replacing(raw: bytes) -> str:
    return raw.decode(errors="replace")


def _decode_text(raw: bytes) -> str | bytes:
    """Text, or bytes if it is not valid UTF-8: SQLite does not validate what it stores as text."""
    try:
        return raw.decode()
    except UnicodeDecodeError:
        return raw


def _code(error: Exception) -> int:
    """SQLite's primary result code; 0 for an error that is not SQLite's."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _failure(error: Exception, seconds: float) -> QueryFailed:
    words, code = str(error), _code(error)
    if code == sqlite3.SQLITE_INTERRUPT:
        return QueryFailed("timeout", f"It was stopped after {seconds:g} seconds. Ask for less, or more narrowly.")
    if isinstance(error, MemoryError) or code in (sqlite3.SQLITE_TOOBIG, sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_FULL):
        return QueryFailed("too_large", f"It works with more than fits ({words or 'out of memory'}). Ask for less.")
    if code in (sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR):
        return QueryFailed("unavailable", f"The database cannot be read now: {words}")
    return QueryFailed("database", words)


def _type(collector: RowCollector, place: int) -> str:
    """The type of a column's first non-null value: SQLite types values, not columns."""
    value = next((row[place] for row in collector.rows if row[place] is not None), None)
    match value:
        case bool() | int():
            return "INTEGER"
        case float():
            return "REAL"
        case str():
            return "TEXT"
    return ""
