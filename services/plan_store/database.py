"""The connection to SQL: SQLite or PostgreSQL, one kind of error when it is down, migrations at the start."""

import asyncio
import fcntl
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import asyncpg  # type: ignore[import-untyped]
from pydantic_core import from_json, to_json
from sqlalchemy import Connection, Executable, Table, create_engine, event, inspect, text
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, ProgrammingError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, create_async_engine
from sqlalchemy.pool import ConnectionPoolEntry

MIGRATIONS = Path(__file__).parent / "migrations"
LOCK = 7_235_401  # of migrations and rebuilds, among PostgreSQL's advisory locks
COMMAND_SECONDS = 60  # for one command to PostgreSQL
BUSY_MS = 10_000  # how long SQLite waits for another writer


class DatabaseDown(Exception):
    """The database cannot be reached, or broke off; the same may work later."""


class Database:
    """One process's pool of connections."""

    def __init__(self, url: str, *, schema: str = "", command_seconds: float | None = COMMAND_SECONDS) -> None:
        """`schema`: of PostgreSQL, in which the tables are; else where the server's search_path says."""
        place = self._place = make_url(url)
        self.is_sqlite = place.get_backend_name() == "sqlite"
        self._file = Path(place.database) if self.is_sqlite and place.database else None
        arguments: dict[str, Any] = {"timeout": 5, "command_timeout": command_seconds}
        if schema:
            arguments["server_settings"] = {"search_path": schema}
        patience: dict[str, Any] = {} if self.is_sqlite else {"connect_args": arguments}
        json: dict[str, Any] = {"json_serializer": _json, "json_deserializer": from_json}
        pool: dict[str, Any] = {"pool_size": 10, "pool_timeout": 10, "pool_pre_ping": not self.is_sqlite}
        self._engine = create_async_engine(place, **json, **pool, **patience)
        self.shown = place.render_as_string(hide_password=True)
        if self.is_sqlite:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="sqlite")
            self._plain = create_engine(place.set(drivername="sqlite"), **json)
            event.listen(self._engine.sync_engine, "connect", _prepare_sqlite)
            event.listen(self._plain, "connect", _prepare_sqlite)

    @asynccontextmanager
    async def begin(self) -> AsyncIterator[AsyncConnection]:
        """A transaction. Raises DatabaseDown; then nothing of it is stored (or, at worst, all of it)."""
        with self._faults():
            async with self._engine.begin() as connection:
                yield connection

    async def work[T](self, does: Callable[[Connection], T]) -> T:
        """All of `does` as one transaction, as `begin`; of them SQLite gets one at a time.

        SQLite's asynchronous driver changes threads for each statement, which takes longer than the statement.
        """
        if self.is_sqlite:
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._at_once, does)
        async with self.begin() as connection:
            return await connection.run_sync(does)

    def _at_once[T](self, does: Callable[[Connection], T]) -> T:
        with self._faults(), self._plain.begin() as connection:
            return does(connection)

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except (IntegrityError, DataError, ProgrammingError):
            raise  # a fault of ours: trying again does not help
        except (DBAPIError, PoolTimeout, asyncpg.PostgresError, asyncpg.InterfaceError, OSError) as error:
            raise DatabaseDown(f"{self.shown}: {error}") from error

    def beside(self, name: str) -> "Database":
        """Another one: a file next to SQLite's, or a schema of this name in PostgreSQL."""
        if self._file:
            file = self._file.with_name(f"{self._file.name}.{name}")
            return Database(self._place.set(database=str(file)).render_as_string(hide_password=False))
        return Database(self._place.render_as_string(hide_password=False), schema=name)

    @property
    def file(self) -> Path | None:
        """SQLite's."""
        return self._file

    async def migrate(self) -> None:
        """Bring the schema to this version; replicas that start together wait for each other."""
        if self._file:
            self._file.parent.mkdir(parents=True, exist_ok=True)
        async with self.begin() as connection:
            if self.is_sqlite:
                await connection.exec_driver_sql("BEGIN IMMEDIATE")  # the driver begins none for a CREATE TABLE
            else:
                await connection.execute(text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": LOCK})
            await connection.run_sync(_upgrade)

    async def replace(self, does: Callable[[Connection], None], source: Path | None, name: str) -> None:
        """All of `does` as one transaction, however long it takes; with SQLite's file `source` as `name`."""
        if self.is_sqlite:
            await asyncio.get_running_loop().run_in_executor(self._thread, self._replace, does, str(source), name)
            return
        patient = Database(self._place.render_as_string(hide_password=False), command_seconds=None)
        try:
            async with patient.begin() as connection:
                await connection.run_sync(does)
        finally:
            await patient.close()

    def _replace(self, does: Callable[[Connection], None], source: str, name: str) -> None:
        with self._faults(), self._plain.connect() as connection:
            connection.exec_driver_sql(f"ATTACH DATABASE ? AS {name}", (source,))
            connection.commit()
            try:
                with connection.begin():
                    does(connection)
            finally:
                connection.rollback()
                connection.exec_driver_sql(f"DETACH DATABASE {name}")

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[bool]:
        """Whether nobody else is in here."""
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
            await asyncio.get_running_loop().run_in_executor(self._thread, self._plain.dispose)
            self._thread.shutdown(wait=False)


def _json(value: object) -> str:
    """NaN and infinities become null: JSON has none."""
    return to_json(value).decode()


def _prepare_sqlite(connection: Any, _: ConnectionPoolEntry) -> None:
    cursor = connection.cursor()
    for pragma in (f"busy_timeout={BUSY_MS}", "journal_mode=WAL", "foreign_keys=ON"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _upgrade(connection: Connection) -> None:
    """Alembic's work, without loading Alembic (a second on a small machine) where nothing is to be done.

    What a newer release has migrated is left as it is: migrations only add, so that the release before goes on.
    """
    versioned = inspect(connection).has_table("alembic_version")
    newest = max(script.name.split("_")[0] for script in (MIGRATIONS / "versions").glob("[0-9]*.py"))  # in order
    if versioned and (connection.scalar(text("SELECT version_num FROM alembic_version")) or "") >= newest:
        return
    from alembic import command  # noqa: PLC0415
    from alembic.config import Config  # noqa: PLC0415

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    config.attributes["connection"] = connection
    command.upgrade(config, "head")


async def put(tx: AsyncConnection, table: Table, rows: Iterable[Mapping[str, Any]]) -> None:
    """Insert rows, or overwrite those of the same primary key; all rows name the same columns."""
    await tx.run_sync(put_rows, table, list(rows))


def put_rows(tx: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """See `put`."""
    if rows:
        tx.execute(_upsert(table, tx.dialect.name, tuple(rows[0])), rows)


def count(tx: Connection, statement: Executable, values: Sequence[Mapping[str, Any]]) -> int:
    """How many rows it concerned, with all of these values; at once where the driver can count then."""
    if tx.dialect.supports_sane_multi_rowcount:
        return tx.execute(statement, values).rowcount if values else 0
    return sum(tx.execute(statement, one).rowcount for one in values)


@cache
def _upsert(table: Table, dialect: str, columns: tuple[str, ...]) -> Executable:
    insert = sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)
    key = [column.name for column in table.primary_key]
    new = {name: insert.excluded[name] for name in columns if name not in key}
    return insert.on_conflict_do_update(index_elements=key, set_=new)
