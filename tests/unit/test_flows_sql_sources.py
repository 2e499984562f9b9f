"""The database that the flow text_to_sql reads, and the saved queries that it gets as hints."""

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from packs.database.pack import DatabasePack
from parley.protocol.pages import LibraryEntry, LibraryPage
from services.executor.query_hints import QueryHints
from shared.settings import Settings
from shared.testing import InMemoryLog, InMemoryStore
from sql.database import BadDatabase
from sql.outcome import QueryRefused


class LibraryStore(InMemoryStore):
    """A plan store with three saved answers, one of them without a query. Records its requests."""

    def __init__(self) -> None:
        super().__init__(InMemoryLog())
        self.requests: list[tuple[str, dict[str, Any]]] = []

    async def ask(self, verb: str, **arguments: Any) -> Any:
        self.requests.append((verb, arguments))
        common: dict[str, Any] = {
            **{"session_id": "s", "round": 1, "version": 9, "flows": ("text_to_sql",), "path": (), "tables": ()},
            **{"answer": "2", "accepted": True, "saved": True, "at": datetime.now(UTC)},
        }
        entries = (
            LibraryEntry(request="how many?", question="How many orders?", sql="SELECT 1", **common),
            LibraryEntry(request="which?", question="", sql="SELECT 2", **common),
            LibraryEntry(request="hello", question="", sql="", **common),
        )
        return LibraryPage(items=entries, total=3).model_dump(mode="json")


@pytest.fixture
def shop(tmp_path: Path) -> str:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as database:
        database.executescript(
            "CREATE TABLE orders (id TEXT, secret TEXT); INSERT INTO orders VALUES ('1', 'x'), ('2', 'y');"
        )
    return f"sqlite:///{tmp_path / 'shop.db'}"


async def test_the_configured_database_is_read_within_the_configured_limits(shop: str) -> None:
    settings = Settings(parley_sql_database_url=shop, parley_sql_hidden="orders.secret", parley_sql_max_rows=1)
    pack = DatabasePack()
    await pack.open(settings)
    try:
        database = await pack.database()
        assert await pack.database() is database
        [table] = (await database.schema()).tables
        assert [column.name for column in table.columns] == ["id"]
        result = await database.run("SELECT id FROM orders")
        assert (len(result.rows), result.truncated) == (1, True)
        with pytest.raises(QueryRefused, match="secret"):
            await database.run("SELECT secret FROM orders")
    finally:
        await pack.close()


async def test_the_default_database_is_the_retail_store_once_it_exists(tmp_path: Path) -> None:
    pack = DatabasePack()
    await pack.open(Settings(parley_home=tmp_path))
    with pytest.raises(BadDatabase, match=r"retail\.db"):
        await pack.database()
    with closing(sqlite3.connect(tmp_path / "retail.db")) as database:
        database.executescript("CREATE TABLE orders (order_id TEXT); CREATE TABLE documents (body TEXT);")
    try:
        schema = await (await pack.database()).schema()
        assert [table.name for table in schema.tables] == ["orders"]
    finally:
        await pack.close()


def test_settings_with_an_unsupported_database_are_refused() -> None:
    with pytest.raises(ValidationError, match="it reads postgresql"):
        Settings(parley_sql_database_url="mysql://x")


async def test_saved_queries_are_hints_while_plan_store_answers() -> None:
    library = LibraryStore()
    hints = await QueryHints(library).similar("ann", "How many orders are there?")
    assert hints == [("How many orders?", "SELECT 1"), ("which?", "SELECT 2")]
    expected = {"user": "ann", "query": "How many orders are there?", "workflow": "flow", "saved": True, "limit": 3}
    assert library.requests == [("library.similar", expected)]
    assert await QueryHints(InMemoryStore(InMemoryLog())).similar("ann", "x") == ()
