"""One database that is only read: its schema, a look at a statement, and a run within limits.

database = open_database("sqlite:///shop.db", hidden=Hidden.parse("users.email, secrets"))
table = await database.run("SELECT count(*) FROM orders")
"""

import asyncio
import time
from abc import ABC, abstractmethod
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from sql.hidden import Hidden
from sql.outcome import BadDatabase, Checked, Kind, Limits, QueryFailed, Refused, SqlError, Table
from sql.schema import Dialect, Schema

__all__ = [
    "BadDatabase",
    "Checked",
    "Database",
    "Hidden",
    "Kind",
    "Limits",
    "QueryFailed",
    "Refused",
    "SqlError",
    "Table",
    "open_database",
]

SCHEMA_SECONDS = 300.0
_LIMITS, _NOTHING_HIDDEN = Limits(), Hidden()
_HOW = "Give sqlite:///folder/name.db for a file, or postgresql://user:password@host/name for a server"


class Database(ABC):
    """What a dialect has to do; the schema is remembered here."""

    dialect: Dialect
    schema_seconds = SCHEMA_SECONDS

    def __init__(self, limits: Limits, hidden: Hidden) -> None:
        self.limits, self.hidden = limits, hidden
        self._schema: Schema | None = None
        self._read_at = 0.0
        self._reading = asyncio.Lock()

    async def schema(self, refresh: bool = False) -> Schema:
        """As it was at most five minutes ago. Raises QueryFailed when the database cannot be reached."""
        asked_at = time.monotonic()
        async with self._reading:
            fresh = self._read_at > asked_at if refresh else asked_at - self._read_at < self.schema_seconds
            if self._schema is None or not fresh:
                self._schema = await self._read_schema()
                self._read_at = time.monotonic()
            return self._schema

    async def check(self, sql: str) -> Checked:
        """Whether it may run, and would; nothing runs. Raises QueryFailed when the database cannot be reached."""
        try:
            checked = await self._check(sql)
        except Refused as refusal:
            return Checked(ok=False, kind=refusal.kind, error=refusal.message)
        if self._schema and any(self._schema.table(name) is None for name in checked.tables):
            self._schema = None  # made since
        return checked

    @abstractmethod
    async def run(self, sql: str) -> Table:
        """Check it again and run it. Raises Refused and QueryFailed."""

    @abstractmethod
    async def _check(self, sql: str) -> Checked: ...

    @abstractmethod
    async def _read_schema(self) -> Schema: ...

    @abstractmethod
    async def aclose(self) -> None:
        """End what it holds open."""


def open_database(url: str, limits: Limits = _LIMITS, hidden: Hidden = _NOTHING_HIDDEN) -> Database:
    """Of either dialect. Raises BadDatabase; a server is only reached when it is first asked."""
    try:
        place = make_url(url)
        dialect = place.get_backend_name()
    except ArgumentError:
        raise BadDatabase(f"This is not the URL of a database. {_HOW}.") from None
    if dialect == "sqlite":
        from sql.sqlite_database import SqliteDatabase  # noqa: PLC0415  each dialect needs its own driver only

        return SqliteDatabase(_file(place), limits, hidden)
    if dialect in ("postgresql", "postgres"):
        from sql.postgres import PostgresDatabase  # noqa: PLC0415

        return PostgresDatabase(place, limits, hidden)
    raise BadDatabase(f"{dialect} is a database that cannot be read here. {_HOW}.")


def _file(place: URL) -> Path:
    if not place.database or place.database == ":memory:":
        raise BadDatabase(f"A database in memory holds nothing to ask for. {_HOW}.")
    return Path(place.database.removeprefix("file:"))
