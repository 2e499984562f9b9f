"""The SQLite layers without the checks of the query parser: the authorizer, the compiled program, the connection."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from sql import sqlite_schema
from sql.outcome import BadDatabase, QueryFailed, QueryLimits, QueryRefused, SqlError
from sql.query_parser import ParsedQuery
from sql.schema import Hidden
from sql.sqlite import SqliteReader
from sql.tokens import tokenize
from tests.support.sql_shop import HIDDEN, LIMITS, sqlite_shop, statements


@pytest.fixture
def path(tmp_path: Path) -> str:
    return sqlite_shop(tmp_path).removeprefix("sqlite:///")


@pytest.fixture
def reader(path: str) -> Iterator[SqliteReader]:
    with closing(SqliteReader(path, HIDDEN, LIMITS)) as opened:
        yield opened


@pytest.fixture
def hurried(path: str) -> Iterator[SqliteReader]:
    with closing(SqliteReader(path, HIDDEN, QueryLimits(seconds=1))) as opened:
        yield opened


def unchecked(sql: str) -> ParsedQuery:
    """The query as it reaches the layers below, without the checks of the parser."""
    return ParsedQuery(sql, tokenize(sql, "sqlite"), None)


def test_the_layers_below_the_parser_refuse_every_hostile_statement(hurried: SqliteReader, path: str) -> None:
    """The kind of the refusal does not matter here, a timeout is one too. The file stays unchanged."""
    before = Path(path).read_bytes()
    executed, refused = [], 0
    for statement in statements("hostile", "sqlite"):
        only_the_parser_refuses = statement["kind"] in ("endless", "empty", "too_long", "deep", "foreign", "unclosed")
        if only_the_parser_refuses or statement["sql"].rstrip().startswith("SELECT \ud800"):
            continue
        try:
            hurried.run(unchecked(statement["sql"]))
            executed.append(statement["sql"])
        except (SqlError, UnicodeEncodeError):
            refused += 1
    assert executed == []
    assert refused > 200
    assert Path(path).read_bytes() == before
    assert {file.name for file in Path(path).parent.iterdir()} == {"shop.db"}


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("INSERT INTO log VALUES (1, 2, 3, 4, 5, 6, 7)", "writes"),
        ("DELETE FROM users", "writes"),
        ("CREATE TABLE x (a)", "writes"),  # for SQLite a write into sqlite_master
        ("DROP TABLE users", "writes"),
        ("PRAGMA query_only = OFF", "administration"),
        ("ATTACH 'x.db' AS x", "administration"),
        ("SAVEPOINT a", "administration"),
        ("SELECT load_extension('x')", "function"),
        ("SELECT * FROM secrets", "hidden"),
        ("SELECT email FROM users", "hidden"),
        ("SELECT users.name FROM users NATURAL JOIN secrets", "hidden"),
        ("SELECT name FROM users JOIN (SELECT 'a' AS email) USING (email)", "hidden"),
        ("SELECT * FROM sqlite_master", "table"),
    ],
)
def test_a_refusal_has_the_kind_of_its_reason(reader: SqliteReader, sql: str, kind: str) -> None:
    with pytest.raises(QueryRefused) as refused:
        reader.run(unchecked(sql))
    assert refused.value.kind == kind


def test_the_connection_cannot_write_even_without_the_authorizer(reader: SqliteReader) -> None:
    for sql in ("DELETE FROM users", "CREATE TABLE x (a)", "ATTACH 'x.db' AS x"):
        with pytest.raises(sqlite3.OperationalError):
            reader.connection.execute(sql)


def test_a_hidden_table_joined_with_using_is_refused(reader: SqliteReader) -> None:
    """SQLite does not report such a table to the authorizer; the compiled program shows it."""
    reads: list[str] = []
    connection = sqlite3.connect(":memory:")
    connection.executescript("CREATE TABLE users (user_id, name); CREATE TABLE secrets (user_id, token)")

    def allow(_: int, table: str | None, *__: str | None) -> int:
        reads.append(str(table))
        return sqlite3.SQLITE_OK

    connection.set_authorizer(allow)
    sql = "SELECT users.name FROM users JOIN secrets USING (user_id)"
    connection.execute(sql)
    connection.close()
    assert "users" in reads
    assert "secrets" not in reads
    with pytest.raises(QueryRefused, match="The table secrets is hidden"):
        reader.run(unchecked(sql))


def test_only_an_allowed_view_may_read_a_table_that_is_not_allowed(path: str) -> None:
    only = Hidden.parse("", only="order_sums, users")
    with closing(SqliteReader(path, only, LIMITS)) as reader:
        assert reader.run(unchecked("SELECT count(*) FROM order_sums")).rows == ((3,),)
        assert reader.run(unchecked("SELECT max(total) FROM order_sums")).rows == ((264.75,),)
        assert reader.run(unchecked("SELECT orders AS o FROM order_sums WHERE orders > 1")).rows == ((2,),)
        for sql in (
            "SELECT * FROM orders",
            "SELECT count(*) FROM orders",
            "SELECT orders FROM order_sums UNION SELECT order_id FROM orders",
            "WITH order_sums AS (SELECT * FROM orders) SELECT * FROM order_sums",
            "WITH 'order_sums' AS (SELECT * FROM orders) SELECT * FROM order_sums",
            "SELECT name FROM users JOIN orders USING (user_id)",
            "SELECT orders FROM order_sums UNION SELECT count(*) FROM orders",
            "SELECT 1 FROM order_sums JOIN orders USING (user_id)",
            "SELECT 1 FROM order_sums NATURAL JOIN orders",
        ):
            with pytest.raises(QueryRefused, match="orders may not be read"):
                reader.run(unchecked(sql))


def test_an_allowed_view_cannot_read_a_hidden_table(path: str) -> None:
    with closing(SqliteReader(path, Hidden.parse("secrets", only="all_secrets"), QueryLimits())) as reader:
        with pytest.raises(QueryRefused, match="hidden"):
            reader.run(unchecked("SELECT count(*) FROM all_secrets"))
        assert reader.names().listed == frozenset()


def test_read_tables_are_reported_in_their_own_spelling(reader: SqliteReader) -> None:
    def tables(sql: str) -> tuple[str, ...]:
        return reader.check(unchecked(sql)).tables

    assert tables("SELECT Name FROM USERS JOIN orders USING (user_id)") == ("orders", "users")
    assert tables("SELECT count(*) FROM order_sums") == ("order_sums",)
    assert tables("WITH users AS (SELECT * FROM orders) SELECT * FROM users") == ("orders",)
    assert tables("SELECT 1") == ()


def test_a_missing_or_invalid_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "text.db").write_text("hello, I am a letter and not a database at all")
    for name, words in (("nothing.db", "There is no file"), ("text.db", "cannot be read as an SQLite database")):
        with pytest.raises(BadDatabase, match=words):
            SqliteReader(str(tmp_path / name), HIDDEN, QueryLimits())


def test_a_value_that_json_cannot_carry_becomes_text(reader: SqliteReader) -> None:
    """SQLite may store invalid UTF-8 as text; JavaScript has no exact integers above 2**53."""
    for sql, value in (
        ("CAST(x'eda080' AS TEXT)", "0xeda080"),
        ("CAST(x'c3a9' AS TEXT)", "é"),
        ("9007199254740993", "9007199254740993"),
        ("-9007199254740991", -9007199254740991),
        ("9e999", "inf"),
        ("""json('[1e400]')""", "[1e400]"),
        ("'a' || char(0) || 'b'", "a\0b"),
    ):
        table = reader.run(unchecked(f"SELECT {sql} AS value"))
        assert table.rows == ((value,),), sql
        assert table.model_validate_json(table.model_dump_json()) == table


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("SELECT body FROM notes WHERE notes MATCH 'locked: account'", "database"),
        ("SELECT body FROM notes WHERE notes MATCH 'full: house'", "database"),
        ("SELECT hex(zeroblob(19000000))", "too_large"),
    ],
)
def test_a_failure_has_the_kind_of_its_code_whatever_its_text_says(reader: SqliteReader, sql: str, kind: str) -> None:
    with pytest.raises(QueryFailed) as failed:
        reader.run(unchecked(sql))
    assert failed.value.kind == kind


def test_the_names_of_many_tables_are_read_within_their_own_time(path: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite_schema, "SAMPLE_TIMEOUT", 0.0)
    with closing(SqliteReader(path, HIDDEN, QueryLimits())) as reader:
        assert "users" in [table.name for table in sqlite_schema.read_schema(reader).tables]


def test_table_names_that_differ_in_the_case_of_a_non_ascii_letter_are_distinct(path: str) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(
            'CREATE TABLE "Ä" (a, password); CREATE TABLE "ä" (b, email); CREATE TABLE "Ö" (c);'
            'INSERT INTO "Ä" VALUES (1, \'token-2\'); INSERT INTO "Ö" VALUES (3)'
        )
    with closing(SqliteReader(path, Hidden.parse("*.password, *.email"), LIMITS)) as reader:
        assert reader.run(unchecked('SELECT c FROM "Ö"')).rows == ((3,),)
        for sql in ('SELECT password FROM "Ä"', 'SELECT * FROM "Ä"', 'SELECT email FROM "ä"'):
            with pytest.raises(QueryRefused, match="hidden"):
                reader.run(unchecked(sql))
