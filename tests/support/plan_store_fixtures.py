"""Fixtures for tests of plan_store: an empty database, on SQLite and on PostgreSQL, and a scheduler on it.

Load it by `pytest_plugins`.
"""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from services.plan_store.database import ProjectionDatabase
from services.plan_store.projection.projector import Projector
from services.plan_store.scheduler.scheduler import Scheduler
from shared.settings import Settings
from shared.testing import InMemoryLog
from tests.support.broker import Broker, Clock
from tests.support.postgres import database_on, emptied


@pytest.fixture(params=["sqlite", "postgresql"])
def kind(request: pytest.FixtureRequest) -> str:
    """The kind of database."""
    return str(request.param)


@pytest.fixture
def empty_url(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a database without tables."""
    if kind == "sqlite":
        return Settings(parley_home=tmp_path).sql_url
    return Settings(database_url=request.getfixturevalue("postgres_url")).sql_url


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite database to copy, because migrating takes longer than most tests."""
    url = Settings(parley_home=tmp_path_factory.mktemp("migrated")).sql_url
    asyncio.run(_migrate(url))
    return _file(url)


@pytest.fixture(scope="session")
def migrated_postgres(postgres_server: str) -> Iterator[str]:
    """The URL of a migrated PostgreSQL database, which each test empties instead of migrating."""
    with database_on(postgres_server) as url:
        asyncio.run(_migrate(Settings(database_url=url).sql_url))
        yield url


async def _migrate(url: str) -> None:
    database = ProjectionDatabase(url)
    await database.migrate()
    await database.close()


def _file(url: str) -> Path:
    return Path(str(make_url(url).database))


@pytest.fixture
def url(kind: str, request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of a migrated database without rows."""
    if kind == "sqlite":
        url = Settings(parley_home=tmp_path).sql_url
        shutil.copyfile(request.getfixturevalue("migrated_file"), _file(url))
        return url
    url = request.getfixturevalue("migrated_postgres")
    emptied(url)
    return Settings(database_url=url).sql_url


@pytest.fixture
async def database(url: str) -> AsyncIterator[ProjectionDatabase]:
    database = ProjectionDatabase(url)
    yield database
    await database.close()


@pytest.fixture
def log() -> InMemoryLog:
    return InMemoryLog()


@pytest.fixture
def projector(log: InMemoryLog, database: ProjectionDatabase) -> Projector:
    return Projector(log, database)


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def scheduler(
    log: InMemoryLog, database: ProjectionDatabase, projector: Projector, broker: Broker, clock: Clock
) -> Scheduler:
    scheduler = Scheduler(broker, log, database, projector, stuck_work_timeout=120, now=clock)
    projector.on_projected = scheduler.session_projected
    return scheduler
