"""The rehearsal model's replies to the nodes of text_to_sql."""

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


def sql_reply(question: str = PENDING, **sections: Any) -> Any:
    reply = reply_to("generate_sql", question=question, dialect="sqlite", tables=TABLES, **sections)
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
def test_requests_are_classified(request_text: str, kind: str) -> None:
    reply = reply_to("classify_prompt", request=request_text, tables="users\norders")
    assert list(reply) == ["kind", "reason", "category"]
    assert reply["category"] == kind
    assert reply["reason"]


def test_a_follow_up_is_joined_with_the_questions_of_the_conversation() -> None:
    conversation = (
        f"user: hello\n\nassistant: Hi!\n\nuser: {PENDING}\n\nassistant: 416\n\nuser: and in 2024?\n\nassistant: 97"
    )
    reply = reply_to("rewrite_prompt", request="only in Texas", conversation=conversation)
    assert reply["question"] == f"{PENDING} and in 2024? only in Texas"
    newer = reply_to(
        "rewrite_prompt", request="only in Texas", conversation=conversation, previous_question="How many users?"
    )
    assert newer["question"] == "How many users? only in Texas"


def test_a_follow_up_is_joined_with_the_previous_question() -> None:
    reply = reply_to("rewrite_prompt", request="only in Texas", previous_question=PENDING, previous_sql="SELECT 1")
    assert set(reply) == {"kind", "question"}
    assert "pending" in reply["question"]
    assert "Texas" in reply["question"]


def test_the_tables_and_columns_of_a_question_are_selected() -> None:
    reply = reply_to("get_relevant_tables", question=PENDING, tables=TABLES)
    assert [entry["name"] for entry in reply["tables"]] == ["orders"]
    assert all(entry["reason"] for entry in reply["tables"])
    assert reply["missing"] == ""
    trimmed = reply_to("trim_relevant_tables", question=PENDING, tables=TABLES)
    assert trimmed["tables"] == [{"table": "orders", "columns": ["status"]}]


@pytest.mark.parametrize(
    ("feedback", "is_applied"),
    [("only the delivered ones", False), ("I mean pending orders, please", True), ("yes", True), ("", True)],
)
def test_feedback_that_no_rule_covers_gets_no_statement(feedback: str, is_applied: bool) -> None:
    reply = sql_reply("How many orders are pending?", feedback=feedback)
    assert (reply["kind"] == "query") is is_applied
    assert is_applied or "only the delivered ones" in reply["reason"]


def test_a_question_gets_a_statement_or_the_reason_for_none() -> None:
    assert "'pending'" in sql_reply()["sql"]
    refused = sql_reply("How purple are the orders?")
    assert refused["kind"] == "cannot"
    assert "purple" in refused["reason"]


def test_an_accepted_statement_is_reused_only_for_the_same_question() -> None:
    hints = [{"question": "how many orders are  pending", "sql": "SELECT 7"}]
    assert sql_reply(hints=hints)["sql"] == "SELECT 7"
    assert sql_reply("How many orders are delivered?", hints=hints).get("sql") != "SELECT 7"
    assert sql_reply(hints=hints, feedback="only those in Texas").get("sql") != "SELECT 7"


def test_a_statement_is_repaired_or_rewritten() -> None:
    repaired = sql_reply(sql="SELECT COUNT(*) FROM order", problem="no such table: order")
    assert repaired["sql"] == "SELECT COUNT(*) FROM orders"
    rewritten = sql_reply(sql="SELECT a FROM b", problem="It reads b; only orders, users may be used.")
    assert "'pending'" in rewritten["sql"]
    refused = sql_reply("Fix it", sql="SELECT a FROM b", problem="it is not what I meant")
    assert refused["kind"] == "cannot"
    assert refused["reason"]


def test_the_answer_is_formatted_from_the_rows() -> None:
    columns = '["state", "orders"]'
    reply = reply_to("format_final_response", question="Orders by state", columns=columns, rows=[["TX", 5], ["CA", 7]])
    assert set(reply) == {"kind", "text", "chart"}
    assert "TX" in reply["text"]
    assert reply["chart"] == "bar"
    count = reply_to("format_final_response", question=PENDING, columns='["n"]', rows=[[5]], row_count="1")
    assert "5" in count["text"]
    empty = reply_to("format_final_response", question=PENDING, columns='["n"]', row_count="0")
    assert "no rows" in empty["text"]
