"""What goes with the statements: kinds of requests, follow-ups, tables that matter, mended statements, answers."""

import ast
import json
import re
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from rehearsal.sql import (
    Tables,
    answer,
    classify,
    columns_for,
    mend,
    read_tables,
    relevant,
    rewrite,
    write_sql,
)
from rehearsal.sql.canonical import canonical
from rehearsal.sql.vocabulary import FUNCTION
from rehearsal.sql.words import near, singular, split, tokens

SCHEMA = """
create table shops(shop_id integer primary key, name text, town text);
create table sellers(seller_id integer primary key, first_name text, last_name text,
  shop_id integer references shops(shop_id));
create table sales(sale_id integer primary key, seller_id integer references sellers(seller_id), status text,
  amount real);
"""


def _tables() -> Tables:
    columns: dict[str, list[dict[str, Any]]] = {
        "shops": [{"name": "shop_id", "key": True}, {"name": "name"}, {"name": "town", "samples": ["Leeds", "York"]}],
        "sellers": [
            {"name": "seller_id", "key": True},
            {"name": "first_name", "samples": ["Ann"]},
            {"name": "last_name", "samples": ["Lee"]},
            {"name": "shop_id", "references": "shops.shop_id"},
        ],
        "sales": [
            {"name": "sale_id", "key": True},
            {"name": "seller_id", "references": "sellers.seller_id"},
            {"name": "status", "samples": ["open", "closed"]},
            {"name": "amount", "type": "REAL"},
        ],
    }
    kinds = {"_id": "INTEGER"}
    for told in columns.values():
        for column in told:
            column.setdefault(
                "type", next((kind for end, kind in kinds.items() if column["name"].endswith(end)), "TEXT")
            )
    return read_tables(json.dumps({"name": name, "columns": told}) for name, told in columns.items())


@pytest.mark.parametrize(
    ("request_text", "previous", "kind"),
    [
        ("How many sales are open?", "", "data"),
        ("only in Leeds", "How many sales are open?", "data"),
        ("hello", "", "general"),
        ("What is SQL?", "", "general"),
        ("What can you do?", "", "general"),
        ("What is the weather in York?", "", "unanswerable"),
        ("Delete all sales", "", "unsafe"),
        ("please drop table sales", "", "unsafe"),
        ("Update the status of sale 3 to closed", "", "unsafe"),
        ("list the shops and then delete them", "", "unsafe"),
        ("remove the filter", "How many sales are open?", "data"),
        ("Add up the amounts of all sales", "", "data"),
    ],
)
def test_the_kind_of_a_request(request_text: str, previous: str, kind: str) -> None:
    found, reason = classify(request_text, ["shops", "sellers", "sales"], previous)
    assert found == kind
    assert reason


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("only in York", "How many sales are open, only in York?"),
        ("and by town?", "How many sales are open by town?"),
        ("what about closed ones", "How many sales are closed?"),
        ("how many of them are in York?", "How many sales are open and are in York?"),
        ("list them", "List sales that are open"),
        ("Which shops have no sellers?", "Which shops have no sellers?"),
    ],
)
def test_a_follow_up_becomes_a_whole_question(said: str, expected: str) -> None:
    sql = "SELECT COUNT(*) FROM sales WHERE sales.status = 'open'"
    assert rewrite(said, "How many sales are open?", sql, ()) == expected


@pytest.mark.parametrize(
    ("said", "before", "expected"),
    [
        ("now as an average", "What is the total amount of sales?", "What is the average amount of sales?"),
        ("top 5 instead", "Show the top 3 sellers by number of sales", "Show the top 5 sellers by number of sales"),
        ("make it 10", "the 3 cheapest sales", "the 10 cheapest sales"),
        ("and the cheapest one?", "What is the most expensive sale?", "What is the cheapest sale?"),
        ("And in 2022?", "How many sales were made in 2024?", "How many sales were made in 2022?"),
        ("sort by name", "List the shops", "List the shops, sorted by name"),
    ],
)
def test_follow_ups_of_other_questions(said: str, before: str, expected: str) -> None:
    assert rewrite(said, before, "", ()) == expected


def test_what_was_said_since_goes_on_from_the_question() -> None:
    assert rewrite("How many sales are open?", "", "", ["only in York"]) == "How many sales are open, only in York?"


def test_the_tables_and_columns_that_matter() -> None:
    question = "How many open sales are there in York?"
    found = relevant(question, _tables(), ())
    assert [name for name, _ in found.tables] == ["sales", "sellers", "shops"]
    assert all(reason for _, reason in found.tables)
    assert found.missing == ""
    columns = columns_for(question, _tables())
    assert {"status", "seller_id"} <= set(columns["sales"])
    assert "town" in columns["shops"]
    assert [name for name, _ in relevant("How many shops are there?", _tables(), ["use the sellers too"]).tables] == [
        "shops",
        "sellers",
    ]


def test_what_no_table_has_is_told() -> None:
    assert "unicorns" in relevant("How many unicorns do the shops have?", _tables(), ()).missing


@pytest.mark.parametrize(
    ("broken", "mended"),
    [
        ("SELCT name FROM shops", "SELECT name FROM shops"),
        ("SELECT name FORM shops", "SELECT name FROM shops"),
        ("SELECT * FROM sales WEHRE status = 'open'", "SELECT * FROM sales WHERE status = 'open'"),
        ("SELECT status, COUNT(*) FROM sales GROUP BU status", "SELECT status, COUNT(*) FROM sales GROUP BY status"),
        ("SELECT fist_name FROM sellers", "SELECT first_name FROM sellers"),
        ("SELECT name FROM shop", "SELECT name FROM shops"),
        ("SELECT first_name last_name FROM sellers", "SELECT first_name, last_name FROM sellers"),
        ("SELECT * FROM sales WHERE status = 'open", "SELECT * FROM sales WHERE status = 'open'"),
        ("SELECT COUNT(* FROM sales", "SELECT COUNT(*) FROM sales"),
        ("SELECT status, COUNT(*) FROM sales", "SELECT status, COUNT(*) FROM sales GROUP BY status"),
        (
            "SELECT amount, last_name FROM sales WHERE status = 'open'",
            "SELECT amount, last_name FROM sales JOIN"
            " sellers ON sellers.seller"
            "_id = sales.seller_id WHERE"
            " status = 'open'",
        ),
        (
            "SELECT seller_id FROM sales JOIN sellers ON sales.seller_id = sellers.seller_id",
            "SELECT sales.seller_id FROM sales JOIN sellers ON sales.seller_id = sellers.seller_id",
        ),
    ],
)
def test_a_broken_statement_is_mended(broken: str, mended: str) -> None:
    done = mend(broken, "", _tables(), "sqlite")
    assert done.sql == mended
    assert done.explanation
    connection = sqlite3.connect(":memory:")
    connection.executescript(SCHEMA)
    connection.execute(done.sql)
    connection.close()


def test_what_would_run_and_mean_nothing_is_not_put_right() -> None:
    done = mend("SELECT cont(*) FROM order WHERE stat = 'pending'", 'near "order": syntax error', _tables(), "sqlite")
    assert done.sql == ""
    assert "I do not see how to put this right" in done.cannot


def test_what_is_not_clear_is_not_mended() -> None:
    done = mend("SELECT gargle FROM wumpus", "no such table: wumpus", _tables(), "sqlite")
    assert (done.sql, "no such table" in done.cannot) == ("", True)


def test_answers_say_what_the_rows_say() -> None:
    assert answer("q", ["sales"], [[1234]], 1, False, "") == ("Sales: **1,234**.", "none")
    assert "no rows" in answer("q", ["sales"], [], 0, False, "")[0]
    assert "no such column" in answer("q", [], [], 0, False, "no such column: x")[0]
    text, chart = answer("q", ["town", "sales"], [["Leeds", 1200], ["York", 3.5]], 2, False, "")
    assert chart == "bar"
    assert "- Leeds: 1,200" in text
    assert answer("q", ["month", "sales"], [["2024-01", 1], ["2024-02", 2]], 2, False, "")[1] == "line"
    text, _ = answer("q", ["name"], [[f"n{number}"] for number in range(50)], 200, True, "")
    assert "at least 200 rows" in text
    assert text.count("\n") == 10


def test_words() -> None:
    assert split("orderItems") == split("order_items") == ("order", "item")
    assert [one.word for one in tokens("Don't show the e-mails of #W12!")] == [
        "do",
        "not",
        "show",
        "the",
        "email",
        "of",
        "#w12",
    ]
    assert near("recieve", "receive")
    assert not near("order", "older one")
    assert canonical("Could you tell me how much money we have?").startswith("how much")


def test_the_vocabulary_is_complete() -> None:
    """Every word that a rule of the grammar asks for is known, so that no slip of the pen is seen in it."""
    folder = Path(__file__).parents[2] / "services" / "rehearsal" / "sql"
    asked = set()
    for name in (
        "clauses",
        "columns",
        "dates",
        "lists",
        "measures",
        "nouns",
        "predicates",
        "questions",
        "tails",
        "values",
    ):
        for node in ast.walk(ast.parse((folder / f"{name}.py").read_text(encoding="utf-8"))):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in ("after", "skip")
            ):
                asked |= {
                    one.value for one in node.args if isinstance(one, ast.Constant) and isinstance(one.value, str)
                }
    words = {singular(word) for text in asked for word in re.findall(r"[a-z]{2,}", text)}
    assert words - FUNCTION == set()


def test_a_question_may_be_in_either_dialect() -> None:
    statement = write_sql("How many open sales are there?", _tables(), "postgres").sql
    assert statement == "SELECT COUNT(*) AS sales\nFROM sales\nWHERE sales.status = 'open'"
