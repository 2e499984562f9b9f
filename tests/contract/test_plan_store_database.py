"""plan_store's database: migrations, of an empty one and of one with rows, and one that is not there."""

import asyncio
from typing import Any

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import Connection, text

from services.plan_store import tables as t
from services.plan_store.database import MIGRATIONS, Database, DatabaseDown
from services.plan_store.patience import patiently
from services.plan_store.projection import Projector
from services.plan_store.rebuild import rebuild_from
from shared.domain import commands as c
from shared.story import finish
from shared.testing import InMemoryLog
from tests.contract.test_plan_store_turns import asked, one, turn
from tests.support.plan_store import rows
from tests.support.plan_store_paths import Walk

pytest_plugins = ("tests.support.postgres", "tests.support.plan_store_fixtures")


async def test_models_and_migrations_say_the_same(database: Database) -> None:
    def known(name: str | None, *_: Any) -> bool:
        """The full-text index is each database's own."""
        return not (name or "").startswith(("memory_words", "vector", "ix_memories_vector"))

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


async def test_rows_of_the_version_before_are_kept(log: InMemoryLog, empty_url: str) -> None:
    database = Database(empty_url)
    await database.migrate()
    story = await asked(log)
    await story.commit(turn({"id": "1.1", "tool": "read"}), c.Start(), finish(action_id="1.1", ok=True))
    projector = Projector(log, database)
    await projector.load(story.id)
    async with database.begin() as tx:
        await tx.run_sync(alembic, command.downgrade, "0001")
    with pytest.raises(Exception, match="memories"):
        async with database.begin() as tx:
            await tx.execute(text("SELECT * FROM memories"))
    await database.migrate()
    a, s = t.actions.c, t.turns.c
    assert await one(database, a.id, a.repairs, a.ruling, a.why, a.artefact) == [("1.1", [], "proceed", "", None)]
    assert await one(database, s.turn, s.sub_goals, s.final, s.recalled, s.path) == [(1, [], False, [], None)]
    assert await one(database, a.id, a.tokens) == [("1.1", 0)]
    await story.commit(c.VerifyTurn(status="success", next_action="complete", reasoning="well"))
    await story.commit(c.GiveAnswer(text="Done.", confidence=1))
    assert (await projector.load(story.id)).session.answer == "Done."
    await rebuild_from(log, database, lambda *_: None)
    assert await one(database, t.memories.c.request, t.memories.c.outcome) == [("Return my boots", "answered: Done.")]
    await database.close()


async def test_where_requests_began_in_the_rows_of_the_version_before(log: InMemoryLog, empty_url: str) -> None:
    database = Database(empty_url)
    await database.migrate()
    walk = Walk(log)
    await walk.answered('\x00 "intent":"request"')
    await walk.commit(c.Continue(), c.Answer(text="Another one"), c.Say(text="steered"), c.Stop())
    await Projector(log, database).load(walk.id)
    j = t.journal.c
    now = await one(database, j.version, j.begins)
    async with database.begin() as tx:
        await tx.run_sync(alembic, command.downgrade, "0002")
    await database.migrate()
    assert await one(database, j.version, j.begins) == now
    assert len([version for version, begins in now if begins]) == 2
    await database.close()
