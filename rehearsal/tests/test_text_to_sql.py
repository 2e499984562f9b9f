"""What the rehearsal model says for the nodes of text_to_sql: sections in, the agreed fields out."""

from typing import Any

import pytest

from rehearsal.tests.contract import reply_to

TABLES = [
    {
        "name": "users",
        "columns": [
            {"name": "user_id", "type": "TEXT", "key": True},
            {"name": "state", "type": "TEXT", "samples": ["TX", "CA"]},
        ],
    },
    {
        "name": "orders",
        "rows": 1000,
        "columns": [
            {"name": "order_id", "type": "TEXT", "key": True},
            {"name": "user_id", "type": "TEXT", "references": "users.user_id"},
            {"name": "status", "type": "TEXT", "samples": ["pending", "delivered"]},
        ],
    },
]
PENDING = "How many orders are pending?"


def node(task: str, **sections: Any) -> Any:
    return reply_to(task, **sections)


def generated(question: str = PENDING, **sections: Any) -> Any:
    reply = node("generate_sql", question=question, dialect="sqlite", tables=TABLES, **sections)
    assert set(reply) in ({"kind", "explanation", "sql"}, {"kind", "reason"})
    return reply


@pytest.mark.parametrize(
    ("request_text", "kind"),
    [
        (PENDING, "data"),
        ("hello", "general"),
        ("what is a join?", "general"),
        ("delete all users", "unsafe"),
        ("What will the weather be tomorrow?", "unanswerable"),
    ],
)
def test_tells_what_a_request_is(request_text: str, kind: str) -> None:
    reply = node("classify_prompt", request=request_text, tables="users\norders")
    assert list(reply) == ["kind", "reason", "category"]
    assert reply["category"] == kind
    assert reply["reason"]


def test_goes_on_from_the_questions_of_a_conversation() -> None:
    said = f"user: hello\n\nassistant: Hi!\n\nuser: {PENDING}\n\nassistant: 416\n\nuser: and in 2024?\n\nassistant: 97"
    reply = node("rewrite_prompt", request="only in Texas", conversation=said)
    assert reply["question"] == f"{PENDING} and in 2024? only in Texas"
    newer = node("rewrite_prompt", request="only in Texas", conversation=said, previous_question="How many users?")
    assert newer["question"] == "How many users? only in Texas"


def test_makes_one_question_of_a_request_that_goes_on() -> None:
    reply = node("rewrite_prompt", request="only in Texas", previous_question=PENDING, previous_sql="SELECT 1")
    assert set(reply) == {"kind", "question"}
    assert "pending" in reply["question"]
    assert "Texas" in reply["question"]


def test_names_the_tables_and_the_columns_of_a_question() -> None:
    reply = node("get_relevant_tables", question=PENDING, tables=TABLES)
    assert [one["name"] for one in reply["tables"]] == ["orders"]
    assert all(one["reason"] for one in reply["tables"])
    assert reply["missing"] == ""
    trimmed = node("trim_relevant_tables", question=PENDING, tables=TABLES)
    assert trimmed["tables"] == [{"table": "orders", "columns": ["status"]}]


@pytest.mark.parametrize(
    ("feedback", "heard"),
    [("only the delivered ones", False), ("I mean pending orders, please", True), ("yes", True), ("", True)],
)
def test_what_was_said_since_is_in_the_question_or_nothing_is_answered(feedback: str, heard: bool) -> None:
    told = generated("How many orders are pending?", feedback=feedback)
    assert (told["kind"] == "query") is heard
    assert heard or "only the delivered ones" in told["reason"]


def test_writes_a_statement_or_says_why_not() -> None:
    assert "'pending'" in generated()["sql"]
    purple = generated("How purple are the orders?")
    assert purple["kind"] == "cannot"
    assert "purple" in purple["reason"]


def test_takes_an_accepted_statement_again_for_the_same_question_only() -> None:
    hints = [{"question": "how many orders are  pending", "sql": "SELECT 7"}]
    assert generated(hints=hints)["sql"] == "SELECT 7"
    assert generated("How many orders are delivered?", hints=hints).get("sql") != "SELECT 7"
    assert generated(hints=hints, feedback="only those in Texas").get("sql") != "SELECT 7"


def test_mends_a_statement_and_else_writes_another_one() -> None:
    mended = generated(sql="SELECT COUNT(*) FROM order", problem="no such table: order")
    assert mended["sql"] == "SELECT COUNT(*) FROM orders"
    strange = generated(sql="SELECT a FROM b", problem="It reads b; only orders, users may be used.")
    assert "'pending'" in strange["sql"]
    lost = generated("Fix it", sql="SELECT a FROM b", problem="it is not what I meant")
    assert lost["kind"] == "cannot"
    assert lost["reason"]


def test_tells_the_answer_from_the_rows() -> None:
    columns = '["state", "orders"]'
    reply = node("format_final_response", question="Orders by state", columns=columns, rows=[["TX", 5], ["CA", 7]])
    assert set(reply) == {"kind", "text", "chart"}
    assert "TX" in reply["text"]
    assert reply["chart"] == "bar"
    first = node("format_final_response", question=PENDING, columns='["n"]', rows=[[5]], row_count="1")
    assert "5" in first["text"]
    nothing = node("format_final_response", question=PENDING, columns='["n"]', row_count="0")
    assert "no rows" in nothing["text"]
