"""Read-only access to one database: its schema, checks of statements, and queries within limits.

database = open_database("sqlite:///shop.db", hidden=Hidden.parse("users.email, secrets"))
table = await database.run("SELECT count(*) FROM orders")
"""

import asyncio
import time
from abc import ABC, abstractmethod
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

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
from sql.schema import Dialect, Hidden, Schema

__all__ = [
    "BadDatabase",
    "ErrorKind",
    "Hidden",
    "QueryCheck",
    "QueryFailed",
    "QueryLimits",
    "QueryRefused",
    "QueryResult",
    "ReadOnlyDatabase",
    "SqlError",
    "open_database",
]

SCHEMA_MAX_AGE = 300.0
_LIMITS, _NOTHING_HIDDEN = QueryLimits(), Hidden()
_HOW = "Give sqlite:///folder/name.db for a file, or postgresql://user:password@host/name for a server"


class ReadOnlyDatabase(ABC):
    """The interface of a dialect, with a cached schema."""

    dialect: Dialect
    schema_max_age = SCHEMA_MAX_AGE

    def __init__(self, limits: QueryLimits, hidden: Hidden) -> None:
        self.limits, self.hidden = limits, hidden
        self._schema: Schema | None = None
        self._read_at = 0.0
        self._reading = asyncio.Lock()

    async def schema(self, refresh: bool = False) -> Schema:
        """The schema, at most five minutes old. Raises QueryFailed if the database is unreachable."""
        asked_at = time.monotonic()
        async with self._reading:
            fresh = self._read_at > asked_at if refresh else asked_at - self._read_at < self.schema_max_age
            if self._schema is None or not fresh:
                self._schema = await self._read_schema()
                self._read_at = time.monotonic()
            return self._schema

    async def check(self, sql: str) -> QueryCheck:
        """Check a statement without running it. Raises QueryFailed if the database is unreachable."""
        try:
            checked = await self._check(sql)
        except QueryRefused as refusal:
            return QueryCheck(ok=False, kind=refusal.kind, error=refusal.message)
        if self._schema and any(self._schema.table(name) is None for name in checked.tables):
            self._schema = None  # the cached schema is older than these tables
        return checked

    @abstractmethod
    async def run(self, sql: str) -> QueryResult:
        """Check the statement again and run it. Raises QueryRefused and QueryFailed."""

    @abstractmethod
    async def _check(self, sql: str) -> QueryCheck: ...

    @abstractmethod
    async def _read_schema(self) -> Schema: ...

    @abstractmethod
    async def aclose(self) -> None:
        """Close all connections."""


def open_database(
    url: str, limits: QueryLimits = _LIMITS, hidden: Hidden = _NOTHING_HIDDEN, zone: str | None = None
) -> ReadOnlyDatabase:
    """Open a database of either dialect. Raises BadDatabase. Connects to a server only when it is first used.

    `zone` is the local time of an SQLite file, as TZ names it; a server has its own.
    """
    try:
        place = make_url(url)
        dialect = place.get_backend_name()
    except ArgumentError:
        raise BadDatabase(f"This is not the URL of a database. {_HOW}.") from None
    if dialect == "sqlite":
        from sql.sqlite_database import SqliteDatabase  # noqa: PLC0415  each dialect needs its own driver only

        return SqliteDatabase(_file(place), limits, hidden, zone)
    if dialect in ("postgresql", "postgres"):
        from sql.postgres import PostgresDatabase  # noqa: PLC0415

        return PostgresDatabase(place, limits, hidden)
    raise BadDatabase(f"{dialect} is a database that cannot be read here. {_HOW}.")


def _file(place: URL) -> Path:
    if not place.database or place.database == ":memory:":
        raise BadDatabase(f"A database in memory holds nothing to ask for. {_HOW}.")
    return Path(place.database.removeprefix("file:"))
