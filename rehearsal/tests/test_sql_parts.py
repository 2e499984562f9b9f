"""The rehearsal model's SQL parts: kinds of requests, follow-ups, relevant tables, repairs, answers."""

import json
from typing import Any

import pytest

from rehearsal.sql.answers import answer
from rehearsal.sql.followups import rewrite
from rehearsal.sql.repair import mend
from rehearsal.sql.request_kinds import classify
from rehearsal.sql.schema import Tables, read_tables
from rehearsal.sql.schema_linking import columns_for, relevant
from rehearsal.sql.tokenizer import near, split, tokens
from rehearsal.sql.translation import write_sql

README_QUERY = """SELECT orders.state, COUNT(*) AS orders
FROM orders
WHERE orders.status = 'pending' AND orders.state IS NOT NULL
GROUP BY orders.state
ORDER BY COUNT(*) DESC, orders.state
LIMIT 5"""


def table(name: str, *columns: dict[str, Any]) -> str:
    return json.dumps({"name": name, "columns": [{"type": "TEXT"} | column for column in columns]})


def store() -> Tables:
    return read_tables(
        (
            table("users", {"name": "user_id", "key": True}, {"name": "city", "samples": ["Leeds", "York"]}),
            table(
                "orders",
                {"name": "order_id", "key": True},
                {"name": "user_id", "references": "users.user_id"},
                {"name": "status", "samples": ["pending", "delivered"]},
                {"name": "state", "samples": ["OR", "TX"]},
                {"name": "total", "type": "REAL"},
            ),
        )
    )


def test_the_readmes_question_and_a_follow_up() -> None:
    question = "Which 5 states have the most pending orders?"
    assert write_sql(question, store(), "sqlite").sql == README_QUERY
    narrowed = rewrite("Only in Oregon", question)
    assert narrowed == "Which 5 states have the most pending orders? Only in Oregon"
    assert "orders.state = 'OR'" in write_sql(narrowed, store(), "sqlite").sql


@pytest.mark.parametrize(
    ("request_text", "previous", "kind"),
    [
        ("How many orders are pending?", "", "data"),
        ("only in Leeds", "How many orders are pending?", "data"),
        ("hello", "", "general"),
        ("What is SQL?", "", "general"),
        ("What can you do?", "", "general"),
        ("What is the weather in York?", "", "unanswerable"),
        ("Delete all orders", "", "unsafe"),
        ("please drop table orders", "", "unsafe"),
        ("Update the status of order 3 to delivered", "", "unsafe"),
        ("list the orders and then delete them", "", "unsafe"),
        ("remove the filter", "How many orders are pending?", "data"),
        ("Add up the totals of all orders", "", "data"),
    ],
)
def test_the_kind_of_a_request(request_text: str, previous: str, kind: str) -> None:
    actual, reason = classify(request_text, ["users", "orders"], previous)
    assert actual == kind
    assert reason


@pytest.mark.parametrize(
    ("follow_up", "expected"),
    [
        ("only in York", "How many orders are pending? only in York"),
        ("and by state?", "How many orders are pending? and by state?"),
        ("list them", "How many orders are pending? list them"),
        ("Which users have no orders?", "Which users have no orders?"),
    ],
)
def test_a_follow_up_is_appended_to_its_question(follow_up: str, expected: str) -> None:
    assert rewrite(follow_up, "How many orders are pending?") == expected


def test_later_feedback_is_appended_to_the_question() -> None:
    assert rewrite("How many orders are pending", "", ["only in York"]).endswith("pending? only in York")


def test_relevant_tables_and_columns() -> None:
    tables = relevant("How many pending orders of users in York are there?", store(), ())
    assert [name for name, _ in tables.tables] == ["orders", "users"]
    assert all(reason for _, reason in tables.tables)
    assert tables.missing == ""
    columns = columns_for("How many pending orders of users in York are there?", store())
    assert {"status", "user_id"} <= set(columns["orders"])
    assert "city" in columns["users"]
    with_feedback = relevant("How many orders are there?", store(), ["use the users too"])
    assert [name for name, _ in with_feedback.tables] == ["orders", "users"]


def test_a_word_is_reported_missing_only_if_it_is_certain() -> None:
    assert "“salary”" in relevant("What is the salary of the CEO?", store(), ()).missing
    assert relevant("How purple are the orders?", store(), ()).missing == ""
    assert "purple" in write_sql("How purple are the orders?", store(), "sqlite").cannot


@pytest.mark.parametrize(
    ("broken", "repaired"),
    [
        ("SELCT user_id FROM users", "SELECT user_id FROM users"),
        ("SELEC COUNT(*) FROM orders", "SELECT COUNT(*) FROM orders"),
        ("SELECT user_id FORM users", "SELECT user_id FROM users"),
        ("SELECT * FROM orders WEHRE status = 'pending'", "SELECT * FROM orders WHERE status = 'pending'"),
        ("SELECT state, COUNT(*) FROM orders GROUP BU state", "SELECT state, COUNT(*) FROM orders GROUP BY state"),
        ("SELECT usr_id FROM users", "SELECT user_id FROM users"),
        ("SELECT city FROM user", "SELECT city FROM users"),
    ],
)
def test_a_broken_statement_is_repaired(broken: str, repaired: str) -> None:
    repair = mend(broken, "", store())
    assert repair.sql == repaired
    assert repair.explanation


def test_an_ambiguous_statement_is_not_repaired() -> None:
    repair = mend("SELECT gargle FROM wumpus", "no such table: wumpus", store())
    assert (repair.sql, "no such table" in repair.cannot) == ("", True)


def test_answers_match_the_rows() -> None:
    assert answer(["orders"], [[1234]], 1, truncated=False) == ("Orders: **1,234**.", "none")
    assert "no rows" in answer(["orders"], [], 0, truncated=False)[0]
    text, chart = answer(["town", "orders"], [["Leeds", 1200], ["York", 3.5]], 2, truncated=False)
    assert chart == "bar"
    assert "- Leeds: 1,200" in text
    assert answer(["month", "orders"], [["2024-01", 1], ["2024-02", 2]], 2, truncated=False)[1] == "line"
    text, _ = answer(["name"], [[f"n{number}"] for number in range(50)], 200, truncated=True)
    assert "at least 200 rows" in text
    assert text.count("\n") == 10


def test_words_are_split_normalised_and_matched_despite_typing_errors() -> None:
    assert split("orderItems") == split("order_items") == ("order", "item")
    normalised = [token.word for token in tokens("Don't show the e-mails of #W12")]
    assert " ".join(normalised) == "do not show the email of #w12"
    assert near("recieve", "receive")
    assert not near("order", "older one")
