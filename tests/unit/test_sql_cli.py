"""`parley sql`: JSON lines for programs, a table for people, and errors for databases that cannot be opened."""

import io
import json
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

import cli.sql
from cli.main import app
from cli.sql import serve
from sql.database import Hidden, ReadOnlyDatabase
from sql.outcome import QueryCheck, QueryLimits, QueryResult
from sql.schema import Dialect, Schema
from tests.support.sql_shop import sqlite_shop
from tests.support.timeouts import WAIT_TIMEOUT

ROOT = Path(__file__).parents[2]


def parley(*words: str) -> Result:
    return CliRunner().invoke(app, ["sql", *words], catch_exceptions=False)


@pytest.fixture
def url(tmp_path: Path) -> str:
    return sqlite_shop(tmp_path)


def test_each_json_line_gets_a_result_or_an_error(url: str) -> None:
    requests: list[Any] = [
        {"sql": "SELECT name FROM users ORDER BY name"},
        {"sql": "SELECT name FROM users; DROP TABLE users"},
        {"sql": "SELECT * FROM users"},
        {"query": "SELECT 1"},
        {"sql": 1},
        [],
        {"sql": "SELECT 1 AS one"},
    ]
    text = "not json\n\n" + "".join(json.dumps(request) + "\n" for request in requests)
    words = ("--database", url, "--hide", "users.email", "--max-rows", "2", "--jsonl")
    command = [sys.executable, "-m", "cli.main", "sql", *words]
    outcome = subprocess.run(
        command, input=text, capture_output=True, text=True, timeout=WAIT_TIMEOUT, cwd=ROOT, check=False
    )
    assert (outcome.returncode, outcome.stderr) == (0, "")
    answers = [json.loads(line) for line in outcome.stdout.splitlines()]
    assert [answer.get("kind") for answer in answers] == [
        *("bad_line", "bad_line", None, "several_statements", "hidden", "bad_line", "bad_line", "bad_line", None)
    ]
    assert answers[2] == {"columns": ["name"], "rows": [["Ann"], ["Bob"]], "truncated": True}
    assert answers[4]["error"].startswith("users.email is hidden; of users you can read: user_id, name")
    assert answers[-1] == {"columns": ["one"], "rows": [[1]], "truncated": False}


class Broken(ReadOnlyDatabase):
    """A database that fails with an unexpected error."""

    dialect: Dialect = "sqlite"

    async def run(self, sql: str) -> QueryResult:
        raise OverflowError(sql)

    async def _check(self, sql: str) -> QueryCheck:
        raise OverflowError(sql)

    async def _read_schema(self) -> Schema:
        raise OverflowError

    async def aclose(self) -> None: ...


async def test_lines_get_an_answer_also_after_unexpected_errors(caplog: pytest.LogCaptureFixture) -> None:
    answers = io.BytesIO()
    await serve(Broken(QueryLimits(), Hidden()), [b'{"sql": "SELECT 1"}\n', b"\xff\n", b"[" * 9999], answers)
    result = [json.loads(line) for line in answers.getvalue().splitlines()]
    assert [item["kind"] for item in result] == ["database", "bad_line", "bad_line"]
    assert "SELECT 1" not in result[0]["error"]
    assert "OverflowError" in caplog.text


def test_a_line_that_is_far_too_long_is_discarded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cli.sql, "MAX_LINE_BYTES", 20)
    stream = io.BytesIO(b"x" * 90 + b"\n" + b'{"sql": "SELECT 1"}\n' + b"short\n" + b"y" * 40)
    read = iter(partial(cli.sql._line, stream), b"")
    assert list(read) == [b"(far too long)\n", b'{"sql": "SELECT 1"}\n', b"short\n", b"(far too long)\n"]


def test_a_result_is_printed_as_a_table(url: str) -> None:
    outcome = parley("--database", url, "SELECT title, price FROM products WHERE price > 10 ORDER BY price")
    assert outcome.exit_code == 0
    assert outcome.stdout.splitlines()[:4] == ["title  price", "─────  ─────", "Lamp    19.5", "Desk     240"]
    assert outcome.stdout.splitlines()[4].startswith("2 rows (")


def test_the_schema_is_printed_without_hidden_columns(url: str) -> None:
    outcome = parley("--database", url, "--hide", "secrets, *.password, users.email", "--schema")
    lines = outcome.stdout.splitlines()
    assert "users  3 rows" in lines
    assert "  user_id   TEXT  → users.user_id  e.g. ann_1, bob_2, cy_3" in lines
    assert not any("email" in line or "secrets" in line for line in lines)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (("--database", "sqlite:///no.db", "SELECT 1"), "There is no file no.db. Give the path"),
        (("--database", "what", "--jsonl"), "not the URL of a database. Give sqlite:///"),
        (("--database", "postgresql://a:b@127.0.0.1:1/c", "--jsonl"), "cannot be reached"),
        (("SELECT 1",), "give --database URL"),
        (("--database", "sqlite:///no.db"), "one of: a statement, --schema, --jsonl"),
    ],
)
def test_usage_and_connection_errors_say_what_to_do(words: tuple[str, ...], text: str) -> None:
    outcome = parley(*words)
    assert outcome.exit_code == 2
    assert text in " ".join(outcome.stderr.replace("│", " ").split())
