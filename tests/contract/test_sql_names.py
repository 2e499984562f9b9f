"""Names as people write them: what SQLite and PostgreSQL say of a name that does not exist, and of other schemas."""

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import asyncpg  # type: ignore[import-untyped]
import pytest

from sql.database import Hidden, ReadOnlyDatabase, SqlError, open_database

pytest_plugins = ("tests.support.postgres",)

SQLITE = """
CREATE TABLE orders (id INTEGER PRIMARY KEY, status TEXT CHECK (status <> ""), total REAL, "Customer Name" TEXT);
CREATE TABLE "group" ("order" INTEGER);
CREATE TABLE msgs (id INTEGER, "from" TEXT, "to" TEXT, subject TEXT);
CREATE VIEW open_orders AS SELECT * FROM orders WHERE status = "open";
INSERT INTO orders VALUES (1, 'open', 1.5, 'Ann'), (2, 'paid', 2, 'Bob');
"""
POSTGRES = """
CREATE TABLE "Order" ("ID" int, "Name" text, "group" text, "Größe" int);
CREATE TABLE "user" (id int);
CREATE TABLE msgs (id int, "from" text, "to" text, subject text);
CREATE TABLE items (id int);
CREATE TABLE "Items" ("Total Price" numeric(10, 2));
CREATE SCHEMA other;
CREATE TABLE other.things (id int);
CREATE SCHEMA "Buchhaltung";
CREATE TABLE "Buchhaltung"."Konten" (id int);
INSERT INTO "Buchhaltung"."Konten" VALUES (7);
"""


@pytest.fixture
async def file(tmp_path: Path) -> AsyncIterator[ReadOnlyDatabase]:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as connection:
        connection.executescript(SQLITE)
    database = open_database(f"sqlite:///{tmp_path / 'shop.db'}")
    yield database
    await database.aclose()


@pytest.fixture
async def server(postgres_url: str) -> AsyncIterator[ReadOnlyDatabase]:
    connection = await asyncpg.connect(postgres_url)
    await connection.execute(POSTGRES)
    await connection.close()
    database = open_database(postgres_url)
    yield database
    await database.aclose()


async def refused(database: ReadOnlyDatabase, sql: str) -> tuple[str, str]:
    with pytest.raises(SqlError) as error:
        await database.run(sql)
    checked = await database.check(sql)
    assert (checked.ok, checked.kind, checked.error) == (False, error.value.kind, error.value.message)
    return error.value.kind, error.value.message


SQLITE_HINTS = (
    ("""SELECT count(*) FROM orders WHERE "stauts" = 'open'""", "Perhaps you mean status"),
    ('SELECT total FROM orders ORDER BY "totl"', "Perhaps you mean total"),
    ('SELECT count(*) FROM orders GROUP BY "region"', "There are:"),
    ('SELECT sum("amount" + 1) FROM orders', "There are:"),
    ('SELECT CASE WHEN "paid" THEN 1 END FROM orders', "'paid'"),
    ('SELECT "customer_name" FROM orders', 'Perhaps you mean "Customer Name"'),
    ('SELECT total FROM open_orders GROUP BY total HAVING max("totl") > 1', "Perhaps you mean total"),
    ('WITH o AS (SELECT total FROM orders) SELECT "sum" FROM o', "'sum'"),
    ('SELECT id FROM orders WHERE status = "paid"', "A text stands in single quotes: 'paid'"),
    ('SELECT id FROM orders WHERE status IN ("it\'s")', "single quotes: 'it''s'"),
    ('SELECT id FROM orders WHERE status = "due: today"', "single quotes: 'due: today'"),
    ("SELECT subjct FROM msgs", "Perhaps you mean subject"),
    ("SELECT interrupted FROM orders", "There are:"),
)


async def test_sqlite_takes_no_mistyped_column_for_a_text(file: ReadOnlyDatabase) -> None:
    for sql, hint in SQLITE_HINTS:
        kind, message = await refused(file, sql)
        assert kind == "column", sql
        assert hint in message, sql


async def test_sqlite_reads_quoted_names_and_the_owners_views_as_before(file: ReadOnlyDatabase) -> None:
    readable: tuple[tuple[str, tuple[tuple[object, ...], ...]], ...] = (
        ('SELECT "total" FROM "orders" WHERE "Status" = \'open\'', ((1.5,),)),
        ('SELECT count(*) AS "how many ""orders""" FROM orders', ((2,),)),
        ('SELECT "n" FROM (SELECT total AS "n" FROM orders) ORDER BY "n" LIMIT 1', ((1.5,),)),
        ("SELECT id FROM open_orders", ((1,),)),
        ("SELECT '\"stauts\"' FROM orders LIMIT 1", (('"stauts"',),)),
        ('SELECT "a`b" FROM (SELECT 1 AS "a`b")', ((1,),)),
    )
    for sql, rows in readable:
        assert (await file.run(sql)).rows == rows, sql


async def test_a_word_of_sql_that_is_a_table_is_hinted_at_with_its_quotes(file: ReadOnlyDatabase) -> None:
    assert (await refused(file, "SELECT * FROM group"))[1].endswith('Write it as it is: "group"')
    table = (await file.schema()).table("group")
    assert table is not None
    assert (table.written, table.columns[0].written) == ('"group"', '"order"')


POSTGRES_HINTS = (
    ('SELECT id FROM "Order"', 'Write it as it is: "ID"'),
    ('SELECT o.Name FROM "Order" AS o', 'Write it as it is: "Name"'),
    ("SELECT subjct FROM msgs", "Perhaps you mean subject"),
    ("SELECT id FROM msgs WHERE id = = 1", 'Write it as it is: "from"'),
    ('SELECT group FROM "Order"', 'Write it as it is: "group"'),
    ('SELECT groesse FROM "Order"', '"Größe"'),
    ('SELECT "total_price" FROM "Items"', 'Perhaps you mean "Total Price"'),
    ('SELECT * FROM "order"', 'Write it as it is: "Order"'),
    ("SELECT count(*) FROM Order", 'The table is written "Order"'),
    ("SELECT * FROM user", 'The table is written "user"'),
    ("SELECT * FROM items AS i JOIN user ON true", 'The table is written "user"'),
    ("SELECT * FROM Users", 'Perhaps you mean "user"'),
    ("SELECT * FROM Konten", 'It is in another schema: "Buchhaltung"."Konten"'),
    ("SELECT * FROM Buchhaltung.Konten", 'It is in another schema: "Buchhaltung"."Konten"'),
)


async def test_postgres_errors_have_the_names_as_they_are_written(server: ReadOnlyDatabase) -> None:
    for sql, hint in POSTGRES_HINTS:
        assert hint in (await refused(server, sql))[1], sql


async def test_tables_that_differ_in_case_and_those_of_other_schemas_are_listed(server: ReadOnlyDatabase) -> None:
    schema = await server.schema()
    written = {table.written or table.name: [c.written or c.name for c in table.columns] for table in schema.tables}
    assert written == {
        '"Items"': ['"Total Price"'],
        '"Order"': ['"ID"', '"Name"', '"group"', '"Größe"'],
        "msgs": ["id", '"from"', '"to"', "subject"],
        "items": ["id"],
        '"user"': ["id"],
        '"Buchhaltung"."Konten"': ["id"],
        "other.things": ["id"],
    }
    assert (await server.run('SELECT * FROM "Buchhaltung"."Konten"')).rows == ((7,),)
    assert (await server.check('SELECT * FROM "Buchhaltung"."Konten"')).tables == ("Buchhaltung.Konten",)
    assert (await server.check('SELECT * FROM "Items", items')).tables == ("Items", "items")
    assert (await server.check("SELECT * FROM Other.Things, PUBLIC.Msgs")).tables == ("msgs", "other.things")
    assert (await refused(server, 'SELECT * FROM other."order"'))[1] == 'relation "other.order" does not exist'
    for name, columns in (("Items", ["Total Price"]), ("items", ["id"])):
        table = schema.table(name)
        assert table is not None
        assert [column.name for column in table.columns] == columns
        assert schema.only([name]).tables == (table,)


async def test_the_search_path_of_the_url_says_which_schema_is_read_first(
    server: ReadOnlyDatabase, postgres_url: str
) -> None:
    """Where something is hidden, other schemas stay closed, and the refusal spells them as they are."""
    assert "Buchhaltung" not in str(await refused(server, "SELECT * FROM nowhere"))
    database = open_database(f"{postgres_url}?search_path=%22Buchhaltung%22", hidden=Hidden.parse("nothing.at_all"))
    try:
        assert (await database.run('SELECT id FROM "Konten"')).rows == ((7,),)
        assert "public.items" in (await refused(database, "SELECT * FROM public.items"))[1]
        assert [table.name for table in (await database.schema()).tables] == ["Konten"]
    finally:
        await database.aclose()
