"""A PostgreSQL database, accessed in read-only transactions."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import asyncpg  # type: ignore[import-untyped]
from sqlalchemy.engine import URL

from sql.database import ReadOnlyDatabase
from sql.json_rows import JsonText, RowCollector, read_real
from sql.outcome import QueryCheck, QueryFailed, QueryLimits, QueryRefused, QueryResult
from sql.postgres_catalogs import FINGERPRINT, SCHEMAS
from sql.postgres_errors import LOST, failure
from sql.postgres_guard import check_query, explain_refusal
from sql.postgres_names import PgNames, read_pg_names
from sql.postgres_plan import check_plan, cover
from sql.postgres_schema import read_pg_schema
from sql.postgres_times import TIME_DECODERS, moment_decoder
from sql.query_parser import ParsedQuery, parse_query
from sql.schema import Dialect, Hidden, Schema

MAX_CONNECTIONS = 4
GRACE_PERIOD = 1.0  # seconds for the server's own timeout error to arrive
MAX_PLAN = 2_000_000  # characters without indentation; PostgreSQL evaluates constants, and writes them into the plan
FETCH_ROWS = 50  # rows fetched at a time; the server limits the size of each
SCHEMA_TIMEOUT = 120.0  # seconds for the whole schema; each of its queries has its own limit

_TEXT_TYPES = "money bit varbit point box path polygon line lseg circle pg_lsn"


class PostgresDatabase(ReadOnlyDatabase):
    """Connects on first use. Transactions are read-only, even if the role may write."""

    dialect: Dialect = "postgres"

    def __init__(self, place: URL, limits: QueryLimits, hidden: Hidden) -> None:
        super().__init__(limits, hidden)
        self._dsn = place.set(drivername="postgresql").render_as_string(hide_password=False)
        self._shown = place.set(drivername="postgresql").render_as_string(hide_password=True)
        self._idle: list[Any] = []
        self._free = asyncio.Semaphore(MAX_CONNECTIONS)
        self._names: PgNames | None = None

    async def run(self, sql: str) -> QueryResult:
        began = time.monotonic()
        query = await asyncio.to_thread(parse_query, sql, self.dialect, self.limits)

        async def work(connection: Any) -> QueryResult:
            text, _ = await self._prepared(connection, query)
            statement = await connection.prepare(text)
            columns = statement.get_attributes()
            gathering = RowCollector(self.limits)
            cursor = await statement.cursor()
            while rows := await cursor.fetch(FETCH_ROWS):
                if gathering.add(row.values() for row in rows):
                    break
            types = tuple(column.type.name for column in columns)
            return QueryResult(
                columns=tuple(column.name for column in columns),
                types=types,
                rows=tuple(gathering.rows_with_text_in(place for place, kind in enumerate(types) if kind == "numeric")),
                truncated=gathering.truncated,
                seconds=round(time.monotonic() - began, 4),
            )

        return await self._run_in_time(work, self.limits.seconds + GRACE_PERIOD)

    async def _check(self, sql: str) -> QueryCheck:
        query = await asyncio.to_thread(parse_query, sql, self.dialect, self.limits)

        async def work(connection: Any) -> QueryCheck:
            _, tables = await self._prepared(connection, query)
            return QueryCheck(ok=True, tables=tables)

        return await self._run_in_time(work, self.limits.seconds + GRACE_PERIOD)

    async def _read_schema(self) -> Schema:
        async def work(connection: Any) -> Schema:
            first = await self._current_names(connection)
            schemas = [row["nspname"] for row in await connection.fetch(SCHEMAS)]
            others = [
                await read_pg_names(connection, schema, first.fingerprint, self.hidden)
                for schema in schemas
                if first.open_to(schema)
            ]
            return await read_pg_schema(connection, first, others)

        return await self._run_in_time(work, SCHEMA_TIMEOUT)

    async def aclose(self) -> None:
        while self._idle:
            await self._idle.pop().close()

    async def _prepared(self, connection: Any, query: ParsedQuery) -> tuple[str, tuple[str, ...]]:
        """The SQL to run and the tables that it reads. Raises QueryRefused."""
        names = await self._current_names(connection)
        tables = await asyncio.to_thread(check_query, query, names)
        whole = cover(query, names, self.limits)
        try:
            text = await connection.fetchval(f"EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON) {whole.fenced}")
            plan = await asyncio.to_thread(_read_plan, text)
        except RecursionError:
            raise QueryRefused("syntax", "Its parts stand too deep within each other. Write it simpler.") from None
        except asyncpg.PostgresError as error:
            sql_error = failure(error, self._shown, self.limits.seconds)
            if isinstance(sql_error, QueryRefused):
                sql_error = await asyncio.to_thread(explain_refusal, sql_error, query, names)
            raise sql_error from error
        await asyncio.to_thread(check_plan, plan, names, tables, whole, query.sql)
        return whole.text, tables

    async def _current_names(self, connection: Any) -> PgNames:
        """The usable names, from the current catalogs. Raises QueryFailed."""
        if connection.get_settings().standard_conforming_strings != "on":  # a connection pooler may ignore our setting
            why = f"{self._shown} reads backslashes in texts. Set standard_conforming_strings to on for it."
            raise QueryFailed("unavailable", why)
        schema, mark = await connection.fetchrow(f"SELECT current_schema(), ({FINGERPRINT})")
        if self._names is None or (self._names.schema, self._names.fingerprint) != (schema, mark):
            self._names = await read_pg_names(connection, schema, mark, self.hidden)
        return self._names

    # --- connections

    async def _run_in_time[T](self, work: Callable[[Any], Awaitable[T]], seconds: float) -> T:
        """Run the work in a read-only transaction with a timeout. Raises QueryRefused and QueryFailed."""
        try:
            async with self._free, asyncio.timeout(seconds), self._connection() as connection:
                try:
                    return await _run_read_only(connection, work)
                except (asyncpg.PostgresError, *LOST, ValueError, OverflowError) as error:
                    raise failure(error, self._shown, self.limits.seconds) from error
        except TimeoutError:
            why = f"It was stopped after {self.limits.seconds:g} seconds. Ask for less, or more narrowly."
            raise QueryFailed("timeout", why) from None

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[Any]:
        """An idle or new connection. After a cancellation or timeout the connection is closed."""
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
            await _configure(connection)
        except BaseException:
            connection.terminate()
            raise
        return connection


def _read_plan(text: str) -> Any:
    """Raises QueryRefused for a plan with large constants, RecursionError for a deep one: much of it is indentation."""
    compact = "".join(line.lstrip(" ") for line in text.split("\n"))
    if len(compact) > MAX_PLAN:
        raise QueryRefused("too_large", "Its constants are too large. Select less of it.")
    return json.loads(compact)


async def _run_read_only[T](connection: Any, work: Callable[[Any], Awaitable[T]]) -> T:
    """Run the work in a read-only transaction. After a cancellation it drops the connection rather than wait for it."""
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


async def _configure(connection: Any) -> None:
    """Set the search path, and decode types without a Python equivalent as PostgreSQL's text."""
    await connection.execute(
        "SELECT set_config('search_path', quote_ident(coalesce(current_schema(), 'public')) || ', pg_temp', false)"
    )
    # Binary format, because whole rows are read in binary. jsonb begins with a version byte.
    for kind, begin in (("json", 0), ("jsonb", 1)):
        await connection.set_type_codec(
            kind,
            schema="pg_catalog",
            encoder=bytes,
            decoder=lambda raw, begin=begin: JsonText(raw[begin:].decode()),
            format="binary",
        )
    await connection.set_type_codec("float4", schema="pg_catalog", encoder=bytes, decoder=read_real, format="binary")
    settings, texts = connection.get_settings(), _TEXT_TYPES.split()
    decoders = TIME_DECODERS | {"timestamptz": moment_decoder(settings.TimeZone)}
    if settings.IntervalStyle != "postgres":
        decoders["interval"] = None
    for kind, decoder in decoders.items():
        if decoder is None:
            texts.append(kind)
        else:
            await connection.set_type_codec(kind, schema="pg_catalog", encoder=tuple, decoder=decoder, format="tuple")
    for kind in texts:
        await connection.set_type_codec(kind, schema="pg_catalog", encoder=str, decoder=_as_written, format="text")


def _as_written(text: str) -> str:
    """Raises UnsupportedClientFeatureError for the bytes that stand in a whole row instead of the text."""
    if "\x00" in text:
        raise asyncpg.UnsupportedClientFeatureError("This type has no text in a whole row.")
    return text
