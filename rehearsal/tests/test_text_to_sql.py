"""The rehearsal model's replies to the nodes of text_to_sql."""

from typing import Any

import pytest

from rehearsal.examples import EXAMPLES
from rehearsal.flows.questions import known_query, rewrite
from rehearsal.flows.statements import correct, explain
from rehearsal.flows.text_to_sql import answer
from rehearsal.tests.contract import reply_to

TABLES = [
    {"name": "users", "columns": [{"name": "user_id"}, {"name": "state"}]},
    {"name": "orders", "columns": [{"name": "order_id"}, {"name": "user_id"}, {"name": "status"}, {"name": "state"}]},
]
PENDING = "How many orders are pending?"
STATEMENT = "SELECT status, COUNT(*) FROM orders WHERE state = 'TX' GROUP BY status ORDER BY 2 DESC LIMIT 5"
EXPLANATION = (
    "It reads orders. It shows status, COUNT(*). It keeps only rows where state = 'TX'. "
    "It makes one row for each status. It sorts by 2 DESC. It gives at most 5 rows. I have not run it."
)


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


def test_a_follow_up_is_joined_with_the_previous_question() -> None:
    assert rewrite("only in Texas", PENDING) == f"{PENDING} only in Texas"
    assert rewrite("How many users are there?", PENDING) == "How many users are there?"
    conversation = f"user: hello\n\nassistant: Hi!\n\nuser: {PENDING}\n\nassistant: 416"
    reply = reply_to("rewrite_prompt", request="only in Texas", conversation=conversation)
    assert reply["question"] == f"{PENDING} only in Texas"
    newer = reply_to("rewrite_prompt", request="only in Texas", previous_question="How many orders are delivered?")
    assert newer["question"] == "How many orders are delivered? only in Texas"


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


def test_a_query_reads_only_tables_that_are_shown() -> None:
    reply = reply_to("generate_sql", question=PENDING, dialect="sqlite", tables=TABLES[:1])
    assert reply == {"kind": "cannot", "reason": "No table here is called orders."}


@pytest.mark.parametrize(
    ("feedback", "is_applied"),
    [("only the delivered ones", False), ("I mean pending orders, please", True), ("", True)],
)
def test_feedback_that_is_not_understood_gets_no_statement(feedback: str, is_applied: bool) -> None:
    reply = sql_reply(feedback=feedback)
    assert (reply["kind"] == "query") is is_applied
    assert is_applied or feedback in reply["reason"]


@pytest.mark.parametrize(
    ("broken", "corrected"),
    [
        ("SELCT user_id FROM users", "SELECT user_id FROM users"),
        ("SELEC COUNT(*) FORM orders", "SELECT COUNT(*) FROM orders"),
        ("SELECT * FROM order WEHRE status = 'peding'", "SELECT * FROM order WHERE status = 'peding'"),
        ("SELECT usr_id FROM user", "SELECT user_id FROM users"),
    ],
)
def test_misspelled_words_of_a_statement_are_corrected(broken: str, corrected: str) -> None:
    assert correct(broken, ["users", "orders"], ["user_id", "status"]) == corrected


def test_a_statement_is_corrected_or_replaced() -> None:
    assert sql_reply("Fix it", sql="SELEC 1", problem="no")["sql"] == "SELECT 1"
    assert "'pending'" in sql_reply(sql="SELECT a FROM b", problem="It reads b.")["sql"]
    refused = sql_reply("Fix it", sql="SELECT a FROM b", problem="it is not what I meant")
    assert (refused["kind"], "not what I meant" in refused["reason"]) == ("cannot", True)


@pytest.mark.parametrize("request_text", [f"Explain this SQL: {STATEMENT}", f"What does this do? {STATEMENT};"])
def test_a_statement_is_explained_clause_by_clause(request_text: str) -> None:
    assert explain(request_text) == EXPLANATION
    assert reply_to("general_questions", request=request_text, tables="orders")["text"] == EXPLANATION


# --- the answer


def test_the_answer_is_formatted_from_the_rows() -> None:
    columns = '["state", "orders"]'
    reply = reply_to("format_final_response", question="Orders by state", columns=columns, rows=[["TX", 5], ["CA", 7]])
    assert reply == {"kind": "answer", "text": "There are 2 rows:\n- TX: 5\n- CA: 7", "chart": "bar"}
    count = reply_to("format_final_response", question=PENDING, columns='["n"]', rows=[[5]], row_count="1")
    assert count["text"] == "n: **5**."
    assert "no rows" in reply_to("format_final_response", question=PENDING, columns='["n"]', row_count="0")["text"]


def test_long_results_are_cut_and_months_are_a_line() -> None:
    text, chart = answer(["name"], [[f"n{number}"] for number in range(50)], 200, truncated=True)
    assert ("at least 200 rows" in text, text.count("\n"), chart) == (True, 10, "none")
    assert answer(["month", "orders"], [["2024-01", 1], ["2024-02", 2.5]], 2, truncated=False)[1] == "line"
