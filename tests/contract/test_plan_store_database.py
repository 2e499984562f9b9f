"""plan_store's database: migrations, a schema that is dropped and created again, and an unreachable server."""

import asyncio
import socket
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import Connection, inspect, text

from services.plan_store import tables as t
from services.plan_store.database import MIGRATIONS, DatabaseUnavailable, ProjectionDatabase
from services.plan_store.handlers import run_when_available
from services.plan_store.operations.rebuild import rebuild_from
from services.plan_store.projection.projector import Projector
from services.plan_store.scheduler import templates as _template_rows  # noqa: F401  adds its table to the metadata
from shared.bus.log_format import WrongFormat
from shared.domain.kernel import commands as c
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


@pytest.mark.parametrize(("revision", "made_by"), [("0010", 1), ("99.0001", 99)])
async def test_rows_of_another_format_of_the_log_are_refused_and_stay(
    log: InMemoryLog, empty_url: str, revision: str, made_by: int
) -> None:
    database = ProjectionDatabase(empty_url)
    await database.migrate()
    story = await new_session(log)
    await Projector(log, database).load(story.id)
    async with database.begin() as tx:
        await tx.execute(text("UPDATE alembic_version SET version_num = :other"), {"other": revision})
    before = await rows(database)
    for _ in range(2):
        with pytest.raises(WrongFormat, match=f"rows of format {made_by}, and this release of Parley reads format 2"):
            await database.migrate()
    assert await rows(database) == before
    async with database.begin() as tx:
        assert await tx.scalar(text("SELECT version_num FROM alembic_version")) == revision
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
