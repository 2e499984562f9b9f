"""Generated statements never reveal hidden values, in rows or in error messages."""

import asyncio
from pathlib import Path

import pytest

from sql.database import Hidden, QueryLimits, open_database
from tests.support.sql_hostile import postgres_with_canary, run_statements, sqlite_with_canary, statements
from tests.support.sql_shop import HIDDEN

pytest_plugins = ("tests.support.postgres",)


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return sqlite_with_canary(tmp_path)
    return asyncio.run(postgres_with_canary(request.getfixturevalue("postgres_url")))


async def leaks(url: str, hidden: Hidden, count: int) -> int:
    """How many of the statements reveal a canary value."""
    database = open_database(url, QueryLimits(seconds=3), hidden)
    ended, wrong = await run_statements(database, statements(5, count))
    await database.aclose()
    assert ended["raised"] == 0, wrong
    assert {"syntax", "column"} <= ended.keys()
    return len(wrong)


async def test_no_hidden_value_is_revealed(url: str) -> None:
    assert await leaks(url, HIDDEN, 80) == 0


async def test_the_same_statements_reveal_values_that_are_not_hidden(url: str) -> None:
    assert await leaks(url, Hidden(), 80) > 1


@pytest.mark.long
@pytest.mark.timeout(1800)
async def test_many_statements_reveal_no_hidden_value(url: str) -> None:
    assert await leaks(url, HIDDEN, 1_000) == 0
