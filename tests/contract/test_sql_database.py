"""Read-only SQL databases on SQLite and PostgreSQL: allowed and refused statements, limits, and the schema."""

import asyncio
import random
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import asyncpg  # type: ignore[import-untyped]
import pytest

from sql.database import (
    BadDatabase,
    Hidden,
    QueryFailed,
    QueryLimits,
    QueryRefused,
    ReadOnlyDatabase,
    SqlError,
    open_database,
)
from tests.support.sql_shop import HIDDEN, LIMITS, postgres_shop, sqlite_shop, statements

if TYPE_CHECKING:
    from tests.support.postgres import PostgresServer

pytest_plugins = ("tests.support.postgres",)

type OpenShop = Callable[..., ReadOnlyDatabase]

BUILT_WITHOUT_XML = "unsupported XML feature"  # the error of a PostgreSQL built without libxml
PARTS = 4  # the hostile statements are split over so many tests
ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c"


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The URL of the shop's database."""
    if request.param == "sqlite":
        return sqlite_shop(tmp_path)
    return asyncio.run(postgres_shop(request.getfixturevalue("postgres_url")))


@pytest.fixture
async def shop(url: str) -> AsyncIterator[OpenShop]:
    """A function that opens the shop. The fixture closes these databases after the test."""
    databases: list[ReadOnlyDatabase] = []

    def open_shop(limits: QueryLimits = LIMITS, hidden: Hidden = HIDDEN) -> ReadOnlyDatabase:
        databases.append(open_database(url, limits, hidden))
        return databases[-1]

    yield open_shop
    for database in databases:
        await database.aclose()


async def write(url: str, sql: str) -> None:
    """Execute the SQL as the shop's owner, on a connection of its own."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
            connection.executescript(sql)
        return
    connection = await asyncpg.connect(url)
    await connection.execute(sql)
    await connection.close()


async def outcome(work: Awaitable[object]) -> str:
    """The kind of error, `no reason` if the error has no message, or `ran`."""
    try:
        await work
    except SqlError as error:
        return error.kind if error.message else "no reason"
    return "ran"


# --- allowed and refused statements


@pytest.mark.parametrize("part", range(PARTS))
async def test_hostile_statements_are_refused_with_the_expected_kind(shop: OpenShop, part: int) -> None:
    """Only statements that must time out get a short limit, so that a slow machine gives the same reasons."""
    short_limit, long_limit = shop(QueryLimits(seconds=0.7)), shop(QueryLimits(seconds=60))
    wrong = []
    for statement in statements("hostile", long_limit.dialect)[part::PARTS]:
        sql, expected = statement["sql"], statement["error"]
        actual = await outcome((short_limit if expected == "timeout" else long_limit).run(sql))
        if actual != expected:
            wrong.append((sql[:100], expected, actual))
    assert wrong == []


async def test_harmless_statements_run(shop: OpenShop) -> None:
    database = shop()
    failed = []
    for statement in statements("harmless", database.dialect):
        try:
            await database.run(statement["sql"])
            assert (await database.check(statement["sql"])).ok
        except SqlError as error:
            if error.message != BUILT_WITHOUT_XML:
                failed.append((statement["sql"][:100], error.kind, error.message))
    assert failed == []


async def test_random_queries_never_show_hidden_values(shop: OpenShop) -> None:
    """Mixtures of harmless and hostile queries show hidden values neither in rows nor in errors."""
    database, generator = shop(QueryLimits(seconds=1)), random.Random(11)
    harmless = [item["sql"] for item in statements("harmless", database.dialect) if len(item["sql"]) < 300]
    hostile = [item["sql"] for item in statements("hostile", database.dialect) if "hidden" in item["kind"]]
    observed: set[str] = set()
    for _ in range(400):
        begin, end = generator.choice(harmless).split(), generator.choice(hostile).split()
        cuts = [generator.randint(1, len(words)) for words in (begin, end)]
        sql = " ".join(begin[: cuts[0]] + end[cuts[1] :])
        try:
            message = str((await database.run(sql)).rows)
            observed.add("ran")
        except SqlError as error:
            message = error.message
            observed.add(error.kind)
        assert "bob@example.com" not in message, sql
        assert "token-2" not in message, sql
    assert {"ran", "syntax", "hidden"} <= observed


async def test_a_check_gives_the_same_refusal_as_a_run(shop: OpenShop) -> None:
    database = shop()
    good = await database.check("SELECT name FROM Users JOIN orders USING (user_id);")
    assert (good.ok, good.kind, good.error, good.tables) == (True, "", "", ("orders", "users"))
    bad = await database.check("SELECT email FROM users")
    assert (bad.ok, bad.kind) == (False, "hidden")
    assert bad.error == "users.email is hidden; of users you can read: user_id, name, state, joined"
    unknown = await database.check("SELECT * FROM clients")
    assert unknown.kind == "table"
    assert "users" in unknown.error
    assert "secrets" not in unknown.error


async def test_only_listed_tables_can_be_read(shop: OpenShop) -> None:
    database = shop(LIMITS, Hidden.parse("*.password", only="users, order_sums"))
    assert [table.name for table in (await database.schema()).tables] == ["order_sums", "users"]
    assert (await database.run("SELECT count(*) FROM order_sums")).rows == ((3,),)
    assert (await database.run("SELECT email FROM users WHERE user_id = 'bob_2'")).rows == (("bob@example.com",),)
    for sql in ("SELECT * FROM orders", "SELECT orders FROM order_sums UNION SELECT count(*) FROM orders"):
        assert await outcome(database.run(sql)) == "table"
    # SQLite reads a vertical tab as a space if it follows a space.
    disguised = "WITH order_sums \vAS (SELECT * FROM orders) SELECT * FROM order_sums"
    assert await outcome(database.run(disguised)) == "syntax"


# --- limits


async def test_rows_and_bytes_are_limited(shop: OpenShop) -> None:
    database = shop(QueryLimits(rows=2, bytes=60))
    table = await database.run("SELECT order_id FROM orders ORDER BY order_id")
    assert (table.rows, table.truncated) == ((("#1",), ("#2",)), True)
    table = await database.run("SELECT order_id FROM orders ORDER BY order_id LIMIT 2")
    assert (len(table.rows), table.truncated) == (2, False)
    wide = await database.run("SELECT 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa' AS a FROM orders")
    assert (len(wide.rows), wide.truncated) == (1, True)
    assert await outcome(database.run(f"SELECT '{'a' * 100}'")) == "too_large"


async def test_a_timeout_stops_the_query_and_the_database_remains_usable(shop: OpenShop) -> None:
    database = shop(QueryLimits(seconds=2))
    kinds = await asyncio.gather(*(outcome(database.run(ENDLESS)) for _ in range(4)))
    assert kinds == ["timeout"] * 4
    assert (await database.run("SELECT 1 AS one")).rows == ((1,),)


async def test_a_cancelled_query_does_not_disturb_the_next_one(shop: OpenShop) -> None:
    database = shop(QueryLimits(seconds=30))
    await database.run("SELECT 1 AS one")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(database.run(ENDLESS), 0.2)
    assert (await database.run("SELECT 2 AS two")).rows == ((2,),)


async def test_concurrent_queries_get_their_own_results(shop: OpenShop) -> None:
    database = shop()
    tables = await asyncio.gather(*(database.run(f"SELECT {n} AS n") for n in range(40)))
    assert [table.rows for table in tables] == [((n,),) for n in range(40)]


# --- the schema


async def test_the_schema_lists_visible_tables_and_columns(shop: OpenShop) -> None:
    database = shop()
    schema = await database.schema()
    names = [table.name for table in schema.tables]
    only_here = ["blobs", "note_ids", "notes"] if database.dialect == "sqlite" else ["members", "states", "years"]
    assert names == sorted(["accounts", "items", "log", "order_sums", "orders", "products", "users", *only_here])
    users, orders = schema.table("USERS"), schema.table("orders")
    assert users is not None
    assert orders is not None
    assert users.rows == 3
    assert [column.name for column in users.columns] == ["user_id", "name", "state", "joined"]
    assert [column.key for column in users.columns] == [True, False, False, False]
    status = next(column for column in orders.columns if column.name == "status")
    assert status.samples == ("cancelled", "delivered", "pending")
    assert next(column for column in orders.columns if column.name == "user_id").references == "users.user_id"
    assert "example.com" not in "\n".join(schema.lines())
    if database.dialect == "postgres":
        assert users.comment == "Who has an account"
        assert status.comment == "pending, delivered or cancelled"


async def test_the_schema_is_cached_and_refreshed(shop: OpenShop, url: str) -> None:
    database = shop()
    first = await database.schema()
    assert await database.schema() is first
    await write(url, "CREATE TABLE clients (client_id INTEGER PRIMARY KEY, password TEXT)")
    assert await database.schema() is first
    assert (await database.check("SELECT client_id FROM clients")).tables == ("clients",)
    later = (await database.schema()).table("clients")
    assert later is not None
    assert [column.name for column in later.columns] == ["client_id"]
    await write(url, "ALTER TABLE clients ADD COLUMN age INTEGER")
    refreshed = (await database.schema(refresh=True)).table("clients")
    assert refreshed is not None
    assert [column.name for column in refreshed.columns] == ["client_id", "age"]
    database.schema_max_age = 0.0
    assert await database.schema() is not await database.schema()


async def test_a_new_column_with_a_hidden_name_is_hidden_at_once(shop: OpenShop, url: str) -> None:
    database = shop()
    assert (await database.run("SELECT * FROM order_sums LIMIT 1")).rows
    await write(url, "ALTER TABLE orders ADD COLUMN password TEXT")
    assert await outcome(database.run("SELECT password FROM orders")) == "hidden"
    assert (await database.run("SELECT order_id FROM orders WHERE order_id = '#1'")).rows == (("#1",),)


# --- opening


@pytest.mark.parametrize("url", ["", "shop.db", "mysql://host/name", "sqlite://", "sqlite:///no/such/file.db"])
def test_a_database_that_cannot_be_opened_is_refused(url: str) -> None:
    with pytest.raises(BadDatabase):
        open_database(url)


async def test_an_unreachable_server_is_an_error_without_the_password() -> None:
    database = open_database("postgresql://someone:secret@127.0.0.1:1/none")
    with pytest.raises(QueryFailed, match="cannot be reached") as failed:
        await database.run("SELECT 1")
    assert failed.value.kind == "unavailable"
    assert "secret" not in failed.value.message


async def test_queries_run_again_after_a_server_restart(own_postgres: "PostgresServer") -> None:
    database = open_database(own_postgres.url)
    assert (await database.run("SELECT 1 AS one")).rows == ((1,),)
    await asyncio.to_thread(own_postgres.stop)
    assert await outcome(database.run("SELECT 1")) == "unavailable"
    await asyncio.to_thread(own_postgres.start)
    assert (await database.run("SELECT 1 AS one")).rows == ((1,),)
    await database.aclose()


async def test_a_query_reconnects_after_the_server_ended_its_connection(postgres_url: str) -> None:
    database = open_database(postgres_url)
    administrator = await asyncpg.connect(postgres_url)
    others = "FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND datname = current_database()"
    for _ in range(20):
        assert (await database.run("SELECT 1 AS one")).rows == ((1,),)
        assert await administrator.fetchval(f"SELECT count(pg_terminate_backend(pid)) {others}") == 1
    await administrator.close()
    await database.aclose()


async def test_a_replaced_file_is_reopened_and_a_deleted_one_is_unavailable(tmp_path: Path) -> None:
    first, second = tmp_path / "shop.db", tmp_path / "next.db"
    for path, value in ((first, 1), (second, 2)):
        await write(f"sqlite:///{path}", f"CREATE TABLE t (a); INSERT INTO t VALUES ({value})")
    database = open_database(f"sqlite:///{first}")
    assert (await database.run("SELECT a FROM t")).rows == ((1,),)
    second.replace(first)
    assert (await database.run("SELECT a FROM t")).rows == ((2,),)
    first.unlink()
    assert await outcome(database.run("SELECT a FROM t")) == "unavailable"
    await write(f"sqlite:///{first}", "CREATE TABLE t (a); INSERT INTO t VALUES (3)")
    assert (await database.run("SELECT a FROM t")).rows == ((3,),)
    await database.aclose()


async def test_without_hidden_columns_the_database_role_decides_what_is_readable(postgres_url: str) -> None:
    """Other schemas and views that call functions are readable then. System tables and functions are not."""
    await write(
        await postgres_shop(postgres_url),
        "INSERT INTO other.far VALUES (7); CREATE VIEW revealed AS SELECT reveal(), current_setting('TimeZone')",
    )
    unrestricted, restricted = open_database(postgres_url), open_database(postgres_url, LIMITS, HIDDEN)
    assert (await unrestricted.run("SELECT f.id FROM other.far AS f")).rows == ((7,),)
    assert (await unrestricted.check("SELECT f.id FROM other.far AS f")).tables == ("other.far",)
    assert len((await unrestricted.run("SELECT * FROM revealed")).rows) == 2
    for sql, kind in (
        ("SELECT reveal()", "function"),
        ("SELECT current_setting('TimeZone')", "function"),
        ("SELECT * FROM pg_settings WHERE 1 OPERATOR(pg_catalog.=) 1", "table"),
        ("SELECT * FROM information_schema.tables", "table"),
    ):
        assert await outcome(unrestricted.run(sql)) == kind
    assert await outcome(restricted.run("SELECT id FROM other.far")) == "table"
    assert await outcome(restricted.run("SELECT * FROM revealed")) == "function"
    await unrestricted.aclose()
    await restricted.aclose()


async def test_a_role_with_write_access_cannot_write(shop: OpenShop, url: str) -> None:
    """The read-only transaction refuses writes even without the checks of the SQL."""
    database = shop()
    if database.dialect == "sqlite":
        return  # tests/unit/test_sql_sqlite.py tests SQLite
    from sql.postgres import PostgresDatabase  # noqa: PLC0415

    assert isinstance(database, PostgresDatabase)
    for sql in ("DELETE FROM log", "SELECT nextval('numbers')", "SELECT tidy()", "CREATE TABLE x (a integer)"):

        async def work(connection: asyncpg.Connection, sql: str = sql) -> None:
            await connection.fetch(sql)

        with pytest.raises(QueryRefused, match="read-only transaction"):
            await database._run_in_time(work, 5)
    assert (await database.run("SELECT count(*) FROM log")).rows == ((2,),)
