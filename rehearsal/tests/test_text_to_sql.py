"""The rehearsal model's replies to the nodes of text_to_sql."""

from typing import Any

import pytest

from rehearsal.examples import EXAMPLES
from rehearsal.flows.questions import known_query
from rehearsal.tests.contract import reply_to

TABLES = [
    {"name": "users", "columns": [{"name": "user_id"}, {"name": "state"}]},
    {"name": "orders", "columns": [{"name": "order_id"}, {"name": "user_id"}, {"name": "status"}, {"name": "state"}]},
]
PENDING = "How many orders are pending?"
STATEMENT = "SELECT status, COUNT(*) FROM orders WHERE state = 'TX' GROUP BY status ORDER BY 2 DESC LIMIT 5"


def sql_reply(question: str = PENDING, **sections: Any) -> Any:
    reply = reply_to("generate_sql", question=question, dialect="sqlite", tables=TABLES, **sections)
    assert set(reply) in ({"kind", "explanation", "sql"}, {"kind", "reason"})
    return reply


# --- questions that are known


@pytest.mark.parametrize("question", EXAMPLES["flow"])
def test_each_example_has_a_query_that_can_be_narrowed(question: str) -> None:
    assert known_query(question)
    assert known_query(question.lower().rstrip("?")) == known_query(question)


@pytest.mark.parametrize(
    ("question", "condition"),
    [
        ("How many orders are delivered?", "status = 'delivered'"),
        ("How many orders are pending? Only in New York", "status = 'pending' AND state = 'NY'"),
        ("Which three states have the most cancelled orders? only in Texas", "state = 'TX'"),
        ("Which pending orders are addressed to Honolulu?", "city = 'Honolulu'"),
        ("Which 10 states have the most pending orders?", "LIMIT 10"),
    ],
)
def test_a_question_may_have_other_values(question: str, condition: str) -> None:
    assert condition in known_query(question)


@pytest.mark.parametrize("question", ["How purple are the orders?", f"{PENDING} And why?", "Orders", ""])
def test_other_questions_are_not_known(question: str) -> None:
    assert known_query(question) == ""


# --- the nodes


@pytest.mark.parametrize(
    ("request_text", "kind"),
    [
        (PENDING, "data"),
        ("hello", "general"),
        ("What can you do?", "general"),
        (f"Explain this SQL: {STATEMENT}", "general"),
        ("delete all users", "unsafe"),
        ("What will the weather be tomorrow?", "unanswerable"),
    ],
)
def test_requests_are_classified(request_text: str, kind: str) -> None:
    reply = reply_to("classify_prompt", request=request_text, tables="users\norders")
    assert list(reply) == ["kind", "reason", "category"]
    assert reply["category"] == kind
    assert reply["reason"]


def test_the_tables_and_columns_of_a_question_are_selected() -> None:
    reply = reply_to("get_relevant_tables", question=PENDING, tables=TABLES)
    assert [entry["name"] for entry in reply["tables"]] == ["orders"]
    assert all(entry["reason"] for entry in reply["tables"])
    trimmed = reply_to("trim_relevant_tables", question=PENDING, tables=TABLES[1:])
    assert trimmed["tables"] == [{"table": "orders", "columns": ["status"]}]


def test_a_question_gets_a_query_or_examples() -> None:
    assert "'pending'" in sql_reply()["sql"]
    refused = sql_reply("How purple are the orders?")
    assert refused["kind"] == "cannot"
    assert all(f"“{example}”" in refused["reason"] for example in EXAMPLES["flow"])


@pytest.mark.parametrize(
    ("feedback", "is_applied"),
    [("only the delivered ones", False), ("I mean pending orders, please", True), ("", True)],
)
def test_feedback_that_is_not_understood_gets_no_statement(feedback: str, is_applied: bool) -> None:
    reply = sql_reply(feedback=feedback)
    assert (reply["kind"] == "query") is is_applied
    assert is_applied or feedback in reply["reason"]


# --- the answer


def test_the_answer_is_formatted_from_the_rows() -> None:
    columns = '["state", "orders"]'
    reply = reply_to("format_final_response", question="Orders by state", columns=columns, rows=[["TX", 5], ["CA", 7]])
    assert reply == {"kind": "answer", "text": "There are 2 rows:\n- TX: 5\n- CA: 7", "chart": "bar"}
    count = reply_to("format_final_response", question=PENDING, columns='["n"]', rows=[[5]], row_count="1")
    assert count["text"] == "n: **5**."
    assert "no rows" in reply_to("format_final_response", question=PENDING, columns='["n"]', row_count="0")["text"]
