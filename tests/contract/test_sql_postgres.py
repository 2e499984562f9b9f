"""Checks that rely on PostgreSQL: its query plans, its catalogs, and the size of rows."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import asyncpg  # type: ignore[import-untyped]
import pytest
from sqlalchemy.engine import make_url

from sql.outcome import QueryFailed, QueryRefused, SqlError
from sql.postgres import PostgresDatabase
from sql.query_parser import ParsedQuery
from sql.schema import Hidden
from sql.tokens import tokenize
from tests.support.sql_shop import HIDDEN, LIMITS, postgres_shop

pytest_plugins = ("tests.support.postgres",)


@pytest.fixture
def url(postgres_url: str) -> str:
    return asyncio.run(postgres_shop(postgres_url))


@pytest.fixture
async def shop(url: str) -> AsyncIterator[PostgresDatabase]:
    database = PostgresDatabase(make_url(url), LIMITS, HIDDEN)
    yield database
    await database.aclose()


@pytest.fixture
async def owner(url: str) -> AsyncIterator[Any]:
    """A connection of the role that owns the shop's tables."""
    connection = await asyncpg.connect(url)
    yield connection
    await connection.close()


async def outcome(database: PostgresDatabase, sql: str) -> str:
    """The kind of error, or `ran`."""
    try:
        await database.run(sql)
    except SqlError as error:
        return error.kind
    return "ran"


# --- query plans


async def checked_by_plan(database: PostgresDatabase, sql: str, scanned: str) -> str:
    """The kind of refusal, or `passed`: the scanner reads `scanned` instead, and sqlglot cannot parse the SQL."""
    query = ParsedQuery(sql, tokenize(scanned, "postgres"), None)
    try:
        await database._run_in_time(lambda connection: database._prepared(connection, query), LIMITS.seconds)
    except QueryRefused as refusal:
        return refusal.kind
    return "passed"


MISREAD_BY_THE_SCANNER = (
    ("SELECT name FROM users", "passed"),
    ("SELECT email FROM public.users", "hidden"),
    ("SELECT u::text FROM public.users AS u", "hidden"),
    ("SELECT name FROM users WHERE name IN (SELECT name FROM public.users WHERE email LIKE 'b%')", "hidden"),
    ("WITH u AS MATERIALIZED (SELECT * FROM public.users) SELECT email FROM u", "hidden"),
    ("SELECT token FROM public.secrets", "hidden"),
    ("SELECT relname FROM pg_catalog.pg_class", "table"),
    ("SELECT 1259::regclass", "table"),
    ("SELECT pg_sleep(20)", "function"),
    ("SELECT 1) AS a) AS b UNION ALL (SELECT 2) UNION ALL SELECT 3 FROM (SELECT 4 FROM (SELECT 5", "table"),
)


async def test_the_query_plan_reveals_what_the_scanner_misses(shop: PostgresDatabase) -> None:
    for sql, kind in MISREAD_BY_THE_SCANNER:
        assert await checked_by_plan(shop, sql, "SELECT name FROM users") == kind, sql


async def test_access_to_a_view_gives_no_access_to_its_tables(url: str, owner: Any) -> None:
    await owner.execute("CREATE VIEW user_orders AS SELECT u.name, o.status FROM users u JOIN orders o USING (user_id)")
    database = PostgresDatabase(make_url(url), LIMITS, Hidden.parse("users.email", only="users, *_sums, user_orders"))
    unlisted_table = "SELECT status FROM order_sums, public.orders"
    assert await checked_by_plan(database, "SELECT 1 FROM order_sums", "SELECT 1 FROM order_sums") == "passed"
    assert await checked_by_plan(database, unlisted_table, "SELECT 1 FROM order_sums") == "table"
    view_and_its_table = "SELECT s.name, u.email FROM user_orders AS s, public.users AS u"
    # Tables that inherit from users are not listed.
    assert await checked_by_plan(database, view_and_its_table, "SELECT 1 FROM user_orders") == "table"
    assert await outcome(database, "SELECT name, status FROM user_orders WHERE status = 'pending'") == "ran"
    assert await outcome(database, "SELECT name FROM public.user_orders") == "hidden"
    await database.aclose()


async def test_a_very_deep_query_plan_is_refused_or_runs(url: str) -> None:
    shop = PostgresDatabase(make_url(url), LIMITS, HIDDEN)
    assert await outcome(shop, "SELECT 1" + " EXCEPT SELECT 1" * 400) in ("syntax", "ran")
    await shop.aclose()


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("SELECT replace(repeat('a', 30), 'a', repeat('x', 100000))", "too_large"),
        ("SELECT repeat('x', 100000)", "ran"),
        (f"SELECT {'date(' * 40}'2026-01-01'{')' * 40}", "ran"),
        (f"SELECT {'date(' * 40}email{')' * 40} FROM users", "hidden"),
        ("SELECT satisfies_hash_partition(1259, 1, 0, 1)", "function"),
    ],
)
async def test_what_a_planner_would_take_long_for_is_refused(shop: PostgresDatabase, sql: str, kind: str) -> None:
    assert await outcome(shop, sql) == kind


async def test_an_error_has_the_kind_of_its_code_whatever_its_text_says(shop: PostgresDatabase) -> None:
    assert await outcome(shop, "SELECT 'memory'::int") == "database"


# --- the catalogs


async def test_objects_created_later_are_checked_at_once(shop: PostgresDatabase, owner: Any) -> None:
    assert await outcome(shop, "SELECT later_made()") == "function"
    await owner.execute(
        "CREATE FUNCTION later_made() RETURNS text LANGUAGE plpgsql STABLE SECURITY DEFINER"
        " AS 'BEGIN RETURN (SELECT max(token) FROM secrets); END'"
    )
    with pytest.raises(QueryRefused, match="may not be called"):
        await shop.run("SELECT later_made()")
    await owner.execute("CREATE VIEW names AS SELECT user_id, name FROM users")
    assert (await shop.run("SELECT name FROM names WHERE user_id = 'bob_2'")).rows == (("Bob",),)
    await owner.execute("CREATE OR REPLACE VIEW names AS SELECT user_id, email AS name FROM users")
    assert await outcome(shop, "SELECT name FROM names") == "hidden"
    await owner.execute("CREATE TABLE kid (LIKE users INCLUDING ALL)")
    assert await outcome(shop, "SELECT email FROM kid") == "ran"
    await owner.execute("ALTER TABLE kid INHERIT users")
    assert await outcome(shop, "SELECT email FROM kid") == "hidden"
    await owner.execute("ALTER TABLE orders RENAME status TO password")
    assert await outcome(shop, "SELECT password FROM orders") == "hidden"


async def test_a_connection_with_standard_conforming_strings_off_is_refused(shop: PostgresDatabase) -> None:
    """A connection pooler could leave the setting on."""
    await shop.run("SELECT 1 AS one")
    await shop._idle[0].execute("SET standard_conforming_strings TO off")
    with pytest.raises(QueryFailed, match="standard_conforming_strings"):
        await shop.run("SELECT 1 AS one")


# --- the size of rows, and values


async def test_a_rows_size_is_its_uncompressed_size(shop: PostgresDatabase, owner: Any) -> None:
    """PostgreSQL compresses stored texts, here to a hundredth of their size."""
    await owner.execute("CREATE TABLE wide AS SELECT repeat('y', 5000000) AS text FROM generate_series(1, 3)")
    with pytest.raises(QueryFailed, match=r"row of 50000\d\d bytes"):
        await shop.run("SELECT text FROM wide")
    assert (await shop.run("SELECT length(text) AS long FROM wide LIMIT 1")).rows == ((5_000_000,),)


VALUES: tuple[tuple[str, Any], ...] = (
    ("1e400::numeric", "1" + "0" * 400),
    ("1e-400::numeric", "0." + "0" * 399 + "1"),
    ("9007199254740993", "9007199254740993"),
    ("'NaN'::numeric", "nan"),
    ("'-Infinity'::float8", "-inf"),
    ("""'{"a": [1, 2.5, null, "é"]}'::jsonb""", {"a": [1, 2.5, None, "é"]}),
    ("'1e400'::jsonb", "1" + "0" * 400),
    ("'[1e400]'::json", "[1e400]"),
    ("'[1e99999999999999999999999]'::json", "[1e99999999999999999999999]"),
    ("'[0.10000000000000000001]'::jsonb", "[0.10000000000000000001]"),
    ("'[9007199254740993]'::jsonb", "[9007199254740993]"),
    (r"""'{"a": "\ud800"}'::json""", r'{"a": "\ud800"}'),
    (r"""'{"\u0000": 1}'::json""", r'{"\u0000": 1}'),
    ("""'{"a": 1, "a": 2}'::json""", '{"a": 1, "a": 2}'),
    ("(repeat('[', 5900) || repeat(']', 5900))::json", "[" * 5900 + "]" * 5900),
    ("(repeat('[', 60) || '1e3' || repeat(']', 60))::jsonb #> array_fill('0'::text, ARRAY[59])", [1000]),
    ("ARRAY['[1e400]'::json, '1']", ["[1e400]", 1]),
    ("ROW(1, '[1e400]'::json)", [1, "[1e400]"]),
    ("'[1,9007199254740993)'::int8range", "[1,9007199254740993)"),
)


async def test_a_value_is_returned_exactly_or_as_text(shop: PostgresDatabase) -> None:
    for sql, value in VALUES:
        table = await shop.run(f"SELECT {sql} AS value")
        assert table.rows == ((value,),), sql
        assert table.model_validate_json(table.model_dump_json()) == table


async def test_a_value_without_binary_output_needs_a_cast_to_text(shop: PostgresDatabase) -> None:
    with pytest.raises(QueryRefused, match="Cast it to text"):
        await shop.run("SELECT '=r/parley'::aclitem")
    assert (await shop.run("SELECT '=r/parley'::aclitem::text AS one")).rows == (("=r/parley",),)


async def test_deeply_nested_rows_are_refused(shop: PostgresDatabase) -> None:
    with pytest.raises(QueryFailed, match="64 deep"):
        await shop.run(f"SELECT {'ROW(' * 90}status{')' * 90} FROM orders")


async def test_text_that_is_not_utf8_is_refused(postgres_url: str, owner: Any) -> None:
    """A database with the encoding SQL_ASCII does not validate text."""
    name = "no_encoding"
    await owner.execute(f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' TEMPLATE template0 LC_COLLATE 'C' LC_CTYPE 'C'")
    database = PostgresDatabase(make_url(f"{postgres_url.rpartition('/')[0]}/{name}"), LIMITS, Hidden())
    try:
        with pytest.raises(QueryFailed, match="UTF8"):
            await database.run(r"SELECT E'\377'")
        assert (await database.run("SELECT 1 AS one")).rows == ((1,),)
    finally:
        await database.aclose()
        await owner.execute(f"DROP DATABASE {name} WITH (FORCE)")
