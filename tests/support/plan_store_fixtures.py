"""Fixtures of plan_store's tests, for `pytest_plugins`: a database without rows, on SQLite and on PostgreSQL."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from services.plan_store.database import Database
from services.plan_store.projection import Projector
from shared.settings import Settings
from shared.testing import InMemoryLog
from tests.support.postgres import database_on, emptied


@pytest.fixture(params=["sqlite", "postgresql"])
def kind(request: pytest.FixtureRequest) -> str:
    """Of database."""
    return str(request.param)


@pytest.fixture
def empty_url(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of an empty database."""
    if kind == "sqlite":
        return Settings(parley_home=tmp_path).sql_url
    return Settings(database_url=request.getfixturevalue("postgres_url")).sql_url


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A SQLite database to copy: making all tables again for each test takes longer than many a test."""
    url = Settings(parley_home=tmp_path_factory.mktemp("migrated")).sql_url
    asyncio.run(_migrate(url))
    return _file(url)


@pytest.fixture(scope="session")
def migrated_postgres(postgres_server: str) -> Iterator[str]:
    """URL of a PostgreSQL database to empty, for the same reason."""
    with database_on(postgres_server) as url:
        asyncio.run(_migrate(Settings(database_url=url).sql_url))
        yield url


async def _migrate(url: str) -> None:
    database = Database(url)
    await database.migrate()
    await database.close()


def _file(url: str) -> Path:
    return Path(str(make_url(url).database))


@pytest.fixture
def url(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Of a migrated database without rows."""
    if kind == "sqlite":
        url = Settings(parley_home=tmp_path).sql_url
        shutil.copyfile(request.getfixturevalue("migrated_file"), _file(url))
        return url
    url = request.getfixturevalue("migrated_postgres")
    emptied(url)
    return Settings(database_url=url).sql_url


@pytest.fixture
async def database(url: str) -> AsyncIterator[Database]:
    database = Database(url)
    yield database
    await database.close()


@pytest.fixture
def log() -> InMemoryLog:
    return InMemoryLog()


@pytest.fixture
def projector(log: InMemoryLog, database: Database) -> Projector:
    return Projector(log, database)
