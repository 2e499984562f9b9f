"""plan_store's database: migrations, a schema that is dropped and created again, and an unreachable server."""

import asyncio
import socket
from datetime import UTC, datetime
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import JSON, Boolean, Column, Connection, DateTime, Integer, MetaData, Numeric, Table, inspect, select

from services.plan_store import tables as t
from services.plan_store.database import MIGRATIONS, DatabaseUnavailable, ProjectionDatabase
from services.plan_store.operations.rebuild import rebuild_from
from services.plan_store.projection.projector import Projector
from services.plan_store.retries import run_when_available
from services.plan_store.scheduler import template_rows as _template_rows  # noqa: F401  adds its table to the metadata
from shared.domain import commands as c
from shared.story import finish_action
from shared.testing import InMemoryLog
from tests.contract.test_plan_store_turns import fetch, new_session, turn
from tests.support.plan_store import rows

pytest_plugins = ("tests.support.postgres", "tests.support.plan_store_fixtures")


async def test_the_tables_match_the_migrations(database: ProjectionDatabase) -> None:
    def is_compared(name: str | None, *_: Any) -> bool:
        """Exclude the full-text index, which differs by database."""
        return not (name or "").startswith(("memories_fts", "search_vector", "ix_memories_search_vector"))

    def differences(connection: Connection) -> list[Any]:
        context = MigrationContext.configure(connection, opts={"include_name": is_compared})
        return list(compare_metadata(context, t.METADATA))

    async with database.begin() as connection:
        assert await connection.run_sync(differences) == []


async def test_replicas_that_start_together_migrate_once(empty_url: str) -> None:
    databases = [ProjectionDatabase(empty_url) for _ in range(4)]
    # Retry as the service does: SQLite fails at once if another connection has locked the file.
    await asyncio.gather(*(run_when_available(database.migrate) for database in databases))
    assert all(not table_rows for table_rows in (await rows(databases[0])).values())
    for database in databases:
        await database.close()


async def test_an_unreachable_database_is_unavailable() -> None:
    database = ProjectionDatabase("postgresql+asyncpg://parley@127.0.0.1:9/none")
    with pytest.raises(DatabaseUnavailable):
        await database.migrate()
    await database.close()


async def test_an_error_says_that_a_silent_server_did_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.plan_store.database.CONNECT_TIMEOUT", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        database = ProjectionDatabase(f"postgresql+asyncpg://parley@127.0.0.1:{silent.getsockname()[1]}/none")
        with pytest.raises(DatabaseUnavailable, match="did not answer in time"):
            await database.migrate()
        await database.close()


def alembic(connection: Connection, act: Any, revision: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    act(config, revision)


def tables(connection: Connection) -> set[str]:
    return set(inspect(connection).get_table_names())


async def test_a_library_entry_of_an_older_release_becomes_a_flow_entry_without_steps(empty_url: str) -> None:
    database = ProjectionDatabase(empty_url)
    await database.migrate()
    async with database.begin() as connection:
        await connection.run_sync(alembic, command.downgrade, "0001")
        # A session and its accepted answer, with the columns of the first schema.
        await connection.run_sync(_insert, "sessions", {"id": "s1"})
        await connection.run_sync(_insert, "library", {"session_id": "s1", "request": "How many?"})
        assert "workflow" not in await connection.run_sync(_columns)
    await database.migrate()
    async with database.begin() as connection:
        columns = (t.library.c.request, t.library.c.workflow, t.library.c.steps)
        assert (await connection.execute(select(*columns))).all() == [("How many?", "flow", [])]
    await database.close()


def _columns(connection: Connection) -> set[str]:
    return {column["name"] for column in inspect(connection).get_columns("library")}


def _insert(connection: Connection, name: str, values: dict[str, Any]) -> None:
    """Insert a row with the columns that the table has now, and an empty value where one is needed."""
    table = Table(name, MetaData(), autoload_with=connection)
    blank = {column.name: _blank(column) for column in table.columns if not column.nullable}
    connection.execute(table.insert(), [blank | values])


def _blank(column: Column[Any]) -> Any:
    kinds: list[tuple[type[Any], Any]] = [
        (Boolean, False),
        (DateTime, datetime(2030, 1, 1, tzinfo=UTC)),
        (Integer, 0),
        (Numeric, 0),
        (JSON, []),
    ]
    return next((value for kind, value in kinds if isinstance(column.type, kind)), "")


async def test_nul_characters_of_an_older_release_are_replaced(empty_url: str) -> None:
    database = ProjectionDatabase(empty_url)
    await database.migrate()
    stored = {"text": "a\0\0b", "path": "C:\\\0", "written": "\\u0000"}
    async with database.begin() as connection:
        await connection.run_sync(alembic, command.downgrade, "0006")
        await connection.run_sync(_insert, "sessions", {"id": "s1", "snapshot": stored})
    await database.migrate()
    async with database.begin() as connection:
        found = await connection.scalar(select(t.sessions.c.snapshot))
    # SQLite reads text of JSON with NUL as any other.
    replaced = {"text": "a\ufffd\ufffdb", "path": "C:\\\ufffd", "written": "\\u0000"}
    assert found == (stored if database.is_sqlite else replaced)
    await database.close()


async def test_a_dropped_schema_is_migrated_and_rebuilt_from_the_log(log: InMemoryLog, empty_url: str) -> None:
    database = ProjectionDatabase(empty_url)
    await database.migrate()
    story = await new_session(log)
    await story.commit(turn({"id": "1.1", "tool": "read"}), c.Start(), finish_action(action_id="1.1", ok=True))
    await story.commit(c.VerifyTurn(status="success", next_action="complete", reasoning="well"))
    await story.commit(c.GiveAnswer(text="Done.", confidence=1))
    await Projector(log, database).load(story.id)
    before = await rows(database)
    async with database.begin() as tx:
        await tx.run_sync(alembic, command.downgrade, "base")
        assert await tx.run_sync(tables) == {"alembic_version"}
    await database.migrate()
    assert not any((await rows(database)).values())
    await rebuild_from(log, database, lambda *_: None)
    assert await rows(database) == before
    assert await fetch(database, t.memories.c.request, t.memories.c.outcome) == [("Return my boots", "answered: Done.")]
    await database.close()
