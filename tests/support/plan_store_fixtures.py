"""Fixtures of plan_store's tests, for `pytest_plugins`: an empty database, on SQLite and on PostgreSQL in turn."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from services.plan_store.database import Database
from services.plan_store.projection import Projector
from shared.settings import Settings
from shared.testing import InMemoryLog


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of an empty database."""
    if request.param == "sqlite":
        return Settings(parley_home=tmp_path).sql_url
    return Settings(database_url=request.getfixturevalue("postgres_url")).sql_url


@pytest.fixture
async def database(url: str) -> AsyncIterator[Database]:
    """Migrated."""
    database = Database(url)
    await database.migrate()
    yield database
    await database.close()


@pytest.fixture
def log() -> InMemoryLog:
    return InMemoryLog()


@pytest.fixture
def projector(log: InMemoryLog, database: Database) -> Projector:
    return Projector(log, database)
