"""plan_store's database: its schema made by migrations, taken away and made again; and one that is not there."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import JSON, Boolean, Column, Connection, DateTime, Integer, MetaData, Numeric, Table, inspect, select

from services.plan_store import tables as t
from services.plan_store import template_rows as _template_rows  # noqa: F401  its table is one of them
from services.plan_store.database import MIGRATIONS, Database, DatabaseDown
from services.plan_store.patience import patiently
from services.plan_store.projection import Projector
from services.plan_store.rebuild import rebuild_from
from shared.domain import commands as c
from shared.story import finish
from shared.testing import InMemoryLog
from tests.contract.test_plan_store_turns import asked, one, turn
from tests.support.plan_store import rows

pytest_plugins = ("tests.support.postgres", "tests.support.plan_store_fixtures")


async def test_models_and_migrations_say_the_same(database: Database) -> None:
    def known(name: str | None, *_: Any) -> bool:
        """The full-text index is each database's own."""
        return not (name or "").startswith(("memories_fts", "search_vector", "ix_memories_search_vector"))

    def differences(connection: Connection) -> list[Any]:
        return list(compare_metadata(MigrationContext.configure(connection, opts={"include_name": known}), t.METADATA))

    async with database.begin() as connection:
        assert await connection.run_sync(differences) == []


async def test_replicas_that_start_together_migrate_once(empty_url: str) -> None:
    databases = [Database(empty_url) for _ in range(4)]
    # As the service does it: SQLite may say at once that another one has the file.
    await asyncio.gather(*(patiently(database.migrate) for database in databases))
    assert all(not found for found in (await rows(databases[0])).values())
    for database in databases:
        await database.close()


async def test_a_database_that_is_not_there_is_down() -> None:
    database = Database("postgresql+asyncpg://parley@127.0.0.1:9/none")
    with pytest.raises(DatabaseDown):
        await database.migrate()
    await database.close()


def alembic(connection: Connection, act: Any, revision: str) -> None:
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS))
    config.attributes["connection"] = connection
    act(config, revision)


def tables(connection: Connection) -> set[str]:
    return set(inspect(connection).get_table_names())


async def test_an_entry_of_the_release_before_is_one_of_a_flow_without_steps(empty_url: str) -> None:
    database = Database(empty_url)
    await database.migrate()
    async with database.begin() as connection:
        await connection.run_sync(alembic, command.downgrade, "0001")
        await connection.run_sync(_insert_entry)
        assert "workflow" not in await connection.run_sync(_columns)
    await database.migrate()
    async with database.begin() as connection:
        columns = (t.library.c.request, t.library.c.workflow, t.library.c.steps)
        assert (await connection.execute(select(*columns))).all() == [("How many?", "flow", [])]
    await database.close()


def _columns(connection: Connection) -> set[str]:
    return {column["name"] for column in inspect(connection).get_columns("library")}


def _insert_entry(connection: Connection) -> None:
    """A session and its accepted answer, as the first schema has them."""
    for name, known in (("sessions", {"id": "s1"}), ("library", {"session_id": "s1", "request": "How many?"})):
        table = Table(name, MetaData(), autoload_with=connection)
        blank = {column.name: _blank(column) for column in table.columns if not column.nullable}
        connection.execute(table.insert(), [blank | known])


def _blank(column: Column[Any]) -> Any:
    kinds: list[tuple[type[Any], Any]] = [
        (Boolean, False),
        (DateTime, datetime(2030, 1, 1, tzinfo=UTC)),
        (Integer, 0),
        (Numeric, 0),
        (JSON, []),
    ]
    return next((value for kind, value in kinds if isinstance(column.type, kind)), "")


async def test_a_schema_that_was_taken_away_is_made_again_and_filled_from_the_log(
    log: InMemoryLog, empty_url: str
) -> None:
    database = Database(empty_url)
    await database.migrate()
    story = await asked(log)
    await story.commit(turn({"id": "1.1", "tool": "read"}), c.Start(), finish(action_id="1.1", ok=True))
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
    assert await one(database, t.memories.c.request, t.memories.c.outcome) == [("Return my boots", "answered: Done.")]
    await database.close()
