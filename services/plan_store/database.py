"""The database, SQLite or PostgreSQL: connections, transactions, migrations, and one error when it is down."""

import asyncio
import fcntl
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager, suppress
from datetime import UTC, datetime
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg  # type: ignore[import-untyped]
from pydantic_core import from_json, to_json
from sqlalchemy import (
    ColumnElement,
    Connection,
    Executable,
    Table,
    Update,
    bindparam,
    create_engine,
    event,
    inspect,
    or_,
    text,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DataError, DBAPIError, DisconnectionError, IntegrityError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

from shared.bus.log_format import WrongFormat, refusal
from shared.bus.topology import LOG_FORMAT
from shared.unavailable import Unavailable, database_advice

Values = dict[str, Any]
MIGRATIONS = Path(__file__).parent / "migrations"
LOCK = 7_235_401  # PostgreSQL's advisory lock for migrations; the next number is that of rebuilds
CONNECT_TIMEOUT = 30  # seconds; a busy server may take more than five
COMMAND_TIMEOUT = 60  # seconds for one command to PostgreSQL
BUSY_MS = 10_000  # that SQLite waits for another writer


class Upsert(NamedTuple):
    """Insert a row, or overwrite the row with the same primary key."""

    table: Table
    values: Values


class RowUpdate(NamedTuple):
    """Run an UPDATE statement. `values` has the new columns and the statement's own parameters."""

    statement: Update
    values: Values


class Delete(NamedTuple):
    """Delete the rows that match."""

    table: Table
    where: ColumnElement[bool]


RowChange = Upsert | RowUpdate | Delete


def update_rows(table: Table, key: Values, values: Values, *, only: tuple[str, ...] = ()) -> RowUpdate:
    """Update columns of the rows that match `key`; with `only`, those in one of these statuses.

    The statement is cached: composing it takes longer than running it.
    """
    return RowUpdate(_update(table, tuple(key), only), values | {f"key_{name}": value for name, value in key.items()})


@cache
def _update(table: Table, names: tuple[str, ...], statuses: tuple[str, ...]) -> Update:
    statement = update(table).where(*(table.c[name] == bindparam(f"key_{name}") for name in names))
    # No IN: such a statement cannot be executed for many rows at once.
    return statement.where(or_(*(table.c.status == status for status in statuses))) if statuses else statement


class DatabaseUnavailable(Unavailable):
    """The database cannot be reached, or the connection broke. A retry may succeed."""


class ProjectionDatabase:
    """One process's pool of connections."""

    def __init__(self, url: str, *, schema: str = "", command_timeout: float | None = COMMAND_TIMEOUT) -> None:
        """`schema`: PostgreSQL's schema for the tables; by default the server's search_path decides."""
        url_parts = self._url = make_url(url)
        self.is_sqlite = url_parts.get_backend_name() == "sqlite"
        self._file = Path(url_parts.database) if self.is_sqlite and url_parts.database else None
        arguments: dict[str, Any] = {"timeout": CONNECT_TIMEOUT, "command_timeout": command_timeout}
        if schema:
            arguments["server_settings"] = {"search_path": schema}
        connect_options: dict[str, Any] = {} if self.is_sqlite else {"connect_args": arguments}
        json: dict[str, Any] = {"json_serializer": _json, "json_deserializer": from_json}
        pool: dict[str, Any] = {"pool_size": 10, "pool_timeout": 10, "pool_pre_ping": not self.is_sqlite}
        self._engine = create_async_engine(url_parts, **json, **pool, **connect_options)
        self.display_url = url_parts.render_as_string(hide_password=True)
        if self.is_sqlite:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite")
            self._sync_engine = create_engine(url_parts.set(drivername="sqlite"), **json)
            for engine in (self._engine.sync_engine, self._sync_engine):
                event.listen(engine, "connect", _prepare_sqlite)
                event.listen(engine, "checkout", self._check_file)

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[AsyncConnection]:
        """A transaction. Raises DatabaseUnavailable.

        Then nothing of it is stored or, if only the reply was lost, all of it.
        """
        with self._translate_errors():
            async with self._engine.begin() as connection:
                yield connection

    async def run[T](self, operation: Callable[[Connection], T]) -> T:
        """Run `operation` in one transaction; on SQLite, one at a time in a thread. Raises DatabaseUnavailable.

        SQLite's asynchronous driver switches threads for each statement, which takes longer than the statement.
        """
        if self.is_sqlite:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._run_sync, operation)
        async with self.begin() as connection:
            return await connection.run_sync(operation)

    def _run_sync[T](self, does: Callable[[Connection], T]) -> T:
        with self._translate_errors(), self._sync_engine.begin() as connection:
            return does(connection)

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        try:
            yield
        except (IntegrityError, DataError, ProgrammingError):
            raise  # a bug of this release: a retry does not help
        except (DBAPIError, PoolTimeout, asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
            why = str(getattr(error, "orig", None) or error) or "it did not answer in time"
            text = f"{self.display_url}: {why}"
            advice = database_advice(text) if self.is_sqlite else ""
            raise DatabaseUnavailable(f"{text}: {advice}" if advice else text) from error

    def _check_file(self, _: Any, record: ConnectionPoolEntry, __: Any) -> None:
        """Open the file again if another one has its name now. Raises DisconnectionError, which does that."""
        if self._file and self._file.exists():
            opened = record.info.setdefault("inode", self._file.stat().st_ino)
            if opened != self._file.stat().st_ino:
                raise DisconnectionError("the database file was replaced")

    def move_aside(self) -> Path | None:
        """Rename SQLite's file, with the files beside it; returns its new path. None if there is no such file."""
        if self._file is None or not self._file.exists():
            return None
        kept = self._file.with_name(f"{self._file.name}.damaged-{datetime.now(UTC):%Y%m%dT%H%M%S}")
        for part in ("", "-wal", "-shm"):
            with suppress(FileNotFoundError):
                Path(f"{self._file}{part}").rename(f"{kept}{part}")
        return kept

    def sibling(self, name: str) -> "ProjectionDatabase":
        """A second database: a file next to SQLite's, or a schema of this name in PostgreSQL."""
        if self._file:
            file = self._file.with_name(f"{self._file.name}.{name}")
            return ProjectionDatabase(self._url.set(database=str(file)).render_as_string(hide_password=False))
        return ProjectionDatabase(self._url.render_as_string(hide_password=False), schema=name)

    @property
    def file(self) -> Path | None:
        """SQLite's file; None for PostgreSQL."""
        return self._file

    async def migrate(self) -> None:
        """Migrate the schema to this release. Concurrent replicas wait for each other.

        Raises DatabaseUnavailable, and WrongFormat for the rows of another log's format, which it leaves as they are.
        """
        if self._file:
            self._file.parent.mkdir(parents=True, exist_ok=True)
        async with self.begin() as connection:
            if self.is_sqlite:
                # The driver opens no transaction for a CREATE TABLE.
                await connection.exec_driver_sql("BEGIN IMMEDIATE")
            else:
                await connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
            await connection.run_sync(_upgrade, self._set_aside)

    @property
    def _set_aside(self) -> str:
        if self._file:
            return f"mv {self._file} {self._file}-older"
        return f"{self.display_url} stays as it is if you name an empty database with DATABASE_URL"

    async def run_attached[T](self, operation: Callable[[Connection], T], source: Path | None, name: str) -> T:
        """Run `operation` in one transaction without a time limit, with SQLite's file `source` attached as `name`."""
        if self.is_sqlite:
            attached = partial(self._run_attached, operation, str(source), name)
            return await asyncio.get_running_loop().run_in_executor(self._thread, attached)
        unlimited = ProjectionDatabase(self._url.render_as_string(hide_password=False), command_timeout=None)
        try:
            async with unlimited.begin() as connection:
                return await connection.run_sync(operation)
        finally:
            await unlimited.close()

    def _run_attached[T](self, operation: Callable[[Connection], T], source: str, name: str) -> T:
        with self._translate_errors(), self._sync_engine.connect() as connection:
            connection.exec_driver_sql(f"ATTACH DATABASE ? AS {name}", (source,))
            connection.commit()
            try:
                with connection.begin():
                    return operation(connection)
            finally:
                connection.rollback()
                connection.exec_driver_sql(f"DETACH DATABASE {name}")

    @asynccontextmanager
    async def exclusive_lock(self) -> AsyncIterator[bool]:
        """A lock for one process at a time. Yields whether this process has it."""
        if self._file:
            with self._file.with_name(f"{self._file.name}.lock").open("w") as file:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError:
                    yield False
                else:
                    yield True
            return
        async with self.begin() as connection:
            lock = {"lock": LOCK + 1}
            yield bool(await connection.scalar(text("SELECT pg_try_advisory_xact_lock(:lock)"), lock))

    async def close(self) -> None:
        await self._engine.dispose()
        if self.is_sqlite:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._sync_engine.dispose)
            self._thread.shutdown(wait=False)


def _json(value: object) -> str:
    """Serialize to JSON, where NaN and infinities become null."""
    return to_json(value).decode()


def _prepare_sqlite(connection: Any, _: ConnectionPoolEntry) -> None:
    cursor = connection.cursor()
    try:
        for pragma in (f"busy_timeout={BUSY_MS}", "journal_mode=WAL", "foreign_keys=ON"):
            cursor.execute(f"PRAGMA {pragma}")
    except BaseException:  # a cancelled task's, too
        connection.close()  # the pool does not have it yet
        raise
    cursor.close()


def _upgrade(connection: Connection, set_aside: str) -> None:
    """Run Alembic, but do not import it (a second on a small machine) if the schema is up to date.

    A revision is named by the log's format and a number, such as `2.0001`: rows of another format are not touched. A
    schema of a newer release is left as it is: migrations only add, so this release can use it.
    """
    versioned = inspect(connection).has_table("alembic_version")
    version = (connection.scalar(text("SELECT version_num FROM alembic_version")) if versioned else None) or ""
    made_by = version.partition(".")[0] if "." in version else "1"
    if version and made_by != LOG_FORMAT:
        raise WrongFormat(refusal(f"The database has rows of format {made_by}", set_aside))
    newest = max(script.name.split("_")[0] for script in (MIGRATIONS / "versions").glob("[0-9]*.py"))  # in order
    if version >= newest:
        return
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


async def upsert(tx: AsyncConnection, table: Table, rows: Iterable[Mapping[str, Any]]) -> None:
    """Insert rows, or overwrite those with the same primary key. All rows must have the same columns."""
    await tx.run_sync(upsert_rows, table, list(rows))


def upsert_rows(tx: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """As `upsert`, on a synchronous connection."""
    if rows:
        tx.execute(_upsert_statement(table, tx.dialect.name, tuple(rows[0])), rows)


def count_rows(tx: Connection, statement: Executable, values: Sequence[Mapping[str, Any]]) -> int:
    """Execute for all of these values and return the number of affected rows; in one go if the driver can count."""
    if tx.dialect.supports_sane_multi_rowcount:
        return tx.execute(statement, values).rowcount if values else 0
    return sum(tx.execute(statement, row).rowcount for row in values)


@cache
def _upsert_statement(table: Table, dialect: str, columns: tuple[str, ...]) -> Executable:
    insert = sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)
    key = [column.name for column in table.primary_key]
    new = {name: insert.excluded[name] for name in columns if name not in key}
    return insert.on_conflict_do_update(index_elements=key, set_=new)
