"""A PostgreSQL database through connections that begin read only, and transactions that are."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg  # type: ignore[import-untyped]
from sqlalchemy.engine import URL

from sql.database import Database
from sql.hidden import Hidden
from sql.look import Look, look
from sql.outcome import Checked, Limits, QueryFailed, Refused, Table
from sql.postgres_catalogs import FINGERPRINT
from sql.postgres_cover import covered
from sql.postgres_errors import LOST, failure
from sql.postgres_guard import examine, explained
from sql.postgres_moments import MOMENTS
from sql.postgres_names import PgNames, read_pg_names
from sql.postgres_plan import see
from sql.postgres_schema import read_pg_schema
from sql.schema import Dialect, Schema
from sql.values import Gathering, JsonText

CONNECTIONS = 4
GRACE = 1.0  # seconds in which the server may still say itself that the time is over
BATCH = 50  # rows that are taken into memory together, each of them bounded by the server
READING = 120.0  # seconds for a schema, at most: each of its parts has a limit of its own

_AS_WRITTEN = "money bit varbit point box path polygon line lseg circle"


class PostgresDatabase(Database):
    """Connects when it is first asked. The role may be allowed to write: the transaction is not."""

    dialect: Dialect = "postgres"

    def __init__(self, place: URL, limits: Limits, hidden: Hidden) -> None:
        super().__init__(limits, hidden)
        self._dsn = place.set(drivername="postgresql").render_as_string(hide_password=False)
        self._shown = place.set(drivername="postgresql").render_as_string(hide_password=True)
        self._idle: list[Any] = []
        self._free = asyncio.Semaphore(CONNECTIONS)
        self._names: PgNames | None = None

    async def run(self, sql: str) -> Table:
        began = time.monotonic()
        query = look(sql, self.dialect, self.limits)

        async def work(connection: Any) -> Table:
            text, _ = await self._prepared(connection, query)
            statement = await connection.prepare(text)
            columns = statement.get_attributes()
            gathering = Gathering(self.limits)
            cursor = await statement.cursor()
            while rows := await cursor.fetch(BATCH):
                if gathering.full(row.values() for row in rows):
                    break
            return Table(
                columns=tuple(column.name for column in columns),
                types=tuple(column.type.name for column in columns),
                rows=tuple(gathering.rows),
                truncated=gathering.truncated,
                seconds=round(time.monotonic() - began, 4),
            )

        return await self._within(work, self.limits.seconds + GRACE)

    async def _check(self, sql: str) -> Checked:
        query = look(sql, self.dialect, self.limits)

        async def work(connection: Any) -> Checked:
            _, tables = await self._prepared(connection, query)
            return Checked(ok=True, tables=tables)

        return await self._within(work, self.limits.seconds + GRACE)

    async def _read_schema(self) -> Schema:
        async def work(connection: Any) -> Schema:
            return await read_pg_schema(connection, await self._known(connection))

        return await self._within(work, READING)

    async def aclose(self) -> None:
        while self._idle:
            await self._idle.pop().close()

    async def _prepared(self, connection: Any, query: Look) -> tuple[str, tuple[str, ...]]:
        """The text to run and the tables it reads. Raises Refused."""
        names = await self._known(connection)
        tables = examine(query, names)
        whole = covered(query, names, self.limits)
        try:
            plan = json.loads(await connection.fetchval(f"EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON) {whole.fenced}"))
        except RecursionError:
            raise Refused("syntax", "Its parts stand too deep within each other. Write it simpler.") from None
        except asyncpg.PostgresError as error:
            told = failure(error, self._shown, self.limits.seconds)
            raise explained(told, query, names) if isinstance(told, Refused) else told from error
        see(plan, names, tables, whole, query.sql)
        return whole.text, tables

    async def _known(self, connection: Any) -> PgNames:
        """What may be used, as the catalogs are in this moment. Raises QueryFailed."""
        if connection.get_settings().standard_conforming_strings != "on":  # a pooler may have dropped what we asked for
            why = f"{self._shown} reads backslashes in texts. Set standard_conforming_strings to on for it."
            raise QueryFailed("unavailable", why)
        schema, mark = await connection.fetchrow(f"SELECT current_schema(), ({FINGERPRINT})")
        if self._names is None or (self._names.schema, self._names.fingerprint) != (schema, mark):
            self._names = await read_pg_names(connection, schema, mark, self.hidden)
        return self._names

    # --- connections

    async def _within[T](self, work: Callable[[Any], Awaitable[T]], seconds: float) -> T:
        """In a read-only transaction, and in time. Raises Refused and QueryFailed."""
        try:
            async with self._free, asyncio.timeout(seconds), self._connection() as connection:
                try:
                    return await _reading(connection, work)
                except (asyncpg.PostgresError, *LOST, ValueError, OverflowError) as error:
                    raise failure(error, self._shown, self.limits.seconds) from error
        except TimeoutError:
            why = f"It was stopped after {self.limits.seconds:g} seconds. Ask for less, or more narrowly."
            raise QueryFailed("timeout", why) from None

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Any]:
        """An idle one that still works, or a new one; given up in the middle, it is thrown away."""
        connection = await self._reused() or await self._connect()
        try:
            yield connection
        except (asyncio.CancelledError, TimeoutError):
            connection.terminate()
            raise
        finally:
            if not connection.is_closed():
                self._idle.append(connection)

    async def _reused(self) -> Any:
        while self._idle:
            connection = self._idle.pop()
            try:
                await connection.fetchval("SELECT 1")
            except (asyncpg.PostgresError, *LOST):
                connection.terminate()
            else:
                return connection
        return None

    async def _connect(self) -> Any:
        thousandth = int(self.limits.seconds * 1000)
        try:
            connection = await asyncpg.connect(
                self._dsn,
                timeout=10,
                statement_cache_size=0,
                server_settings={
                    "application_name": "parley sql",
                    "default_transaction_read_only": "on",
                    "statement_timeout": str(thousandth),
                    "lock_timeout": str(min(thousandth, 5000)),
                    "idle_in_transaction_session_timeout": str(thousandth + 10_000),
                    "standard_conforming_strings": "on",
                },
            )
        except (asyncpg.PostgresError, *LOST, ValueError) as error:
            why = f"{self._shown} cannot be reached: {error}. Check host, user, password and the database's name."
            raise QueryFailed("unavailable", why) from error
        try:
            await _settle(connection)
        except BaseException:
            connection.terminate()
            raise
        return connection


async def _reading[T](connection: Any, work: Callable[[Any], Awaitable[T]]) -> T:
    """In a transaction that cannot write. Given up, it is not ended but dropped: a busy server would let us wait."""
    transaction = connection.transaction(readonly=True)
    await transaction.start()
    try:
        return await work(connection)
    except asyncio.CancelledError:
        connection.terminate()
        raise
    finally:
        if not connection.is_closed():
            await transaction.rollback()


async def _settle(connection: Any) -> None:
    """One schema, temporary tables last; and values as PostgreSQL writes them where Python has none like them."""
    await connection.execute(
        "SELECT set_config('search_path', quote_ident(coalesce(current_schema(), 'public')) || ', pg_temp', false)"
    )
    # In binary, as whole rows are read: jsonb begins with its version.
    for kind, begin in (("json", 0), ("jsonb", 1)):
        await connection.set_type_codec(
            kind,
            schema="pg_catalog",
            encoder=bytes,
            decoder=lambda raw, begin=begin: JsonText(raw[begin:].decode()),
            format="binary",
        )
    for kind, decoder in MOMENTS.items():
        await connection.set_type_codec(kind, schema="pg_catalog", encoder=tuple, decoder=decoder, format="tuple")
    for kind in _AS_WRITTEN.split():
        await connection.set_type_codec(kind, schema="pg_catalog", encoder=str, decoder=str, format="text")
