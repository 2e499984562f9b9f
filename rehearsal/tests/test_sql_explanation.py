"""A statement is explained clause by clause and never run. Unsupported statements are not explained."""

import pytest

from rehearsal.refusals import EXAMPLES
from rehearsal.sql.explanation import explain
from rehearsal.tests.contract import reply_to
from rehearsal.tests.flow_fixtures import PAGE

STATEMENT = "SELECT status, COUNT(*) FROM orders WHERE state = 'TX' GROUP BY status ORDER BY 2 DESC LIMIT 5"
EXPLANATION = (
    "It reads orders. It shows status, COUNT(*). It keeps only rows where state = 'TX'. "
    "It makes one row for each status. It sorts by 2 DESC. It gives at most 5 rows. I have not run it."
)
REQUESTS = [
    f"Explain this SQL: {STATEMENT}",
    f"what does this query do? {STATEMENT};",
    f"Describe it:\n```sql\n{STATEMENT}\n```",
]


@pytest.mark.parametrize("request_text", REQUESTS)
def test_a_statement_is_explained_clause_by_clause(request_text: str) -> None:
    assert reply_to("general_questions", request=request_text, tables="orders")["text"] == EXPLANATION
    assert reply_to("classify_prompt", request=request_text, tables="orders")["category"] == "general"


@pytest.mark.parametrize("request_text", REQUESTS)
def test_the_path_of_an_explanation_runs_nothing(request_text: str) -> None:
    state = [{"text_to_sql": {"request": request_text, "sql": STATEMENT}}]
    reply = reply_to("path", request=request_text, flows=PAGE, state=state)
    assert reply["paths"] == [{"flow": "text_to_sql", "nodes": ["general_questions"]}]


def test_keywords_in_values_and_in_inner_queries_belong_to_their_clause() -> None:
    assert explain(
        "SELECT name FROM a LEFT JOIN b ON a.id = b.a WHERE x = 'limit  from' AND y IN (SELECT y FROM c)"
    ) == (
        "It reads a, left-joined with b ON a.id = b.a. It shows name. "
        "It keeps only rows where x = 'limit  from' AND y IN (SELECT y FROM c). I have not run it."
    )
    assert explain("SELECT DISTINCT state FROM users").startswith(
        "It reads users. It shows state, each combination once."
    )
    assert explain("SELECT * FROM users").startswith("It reads users. It shows every column.")


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT 1 FROM a UNION SELECT 2 FROM b",
        "WITH t AS (SELECT 1) SELECT * FROM t",
        "SELECT * FROM orders; DROP TABLE orders",
        "SELECT * FROM",
        "SELECT (name FROM users",
        "SELECT name FROM users WHERE (zip = '1'",
    ],
)
def test_unsupported_statements_are_answered_with_examples(sql: str) -> None:
    assert explain(sql) == ""
    state = [{"text_to_sql": {"request": sql, "sql": sql}}]
    reply = reply_to("path", request=f"Explain this SQL: {sql} ", flows=PAGE, state=state)
    assert (reply["kind"], tuple(reply["options"])) == ("question", EXAMPLES["flow"])


@pytest.mark.parametrize("request_text", [STATEMENT, f"Run this: {STATEMENT}", f"What is the result of {STATEMENT}"])
def test_a_statement_is_run_if_no_explanation_is_requested(request_text: str) -> None:
    state = [{"text_to_sql": {"request": request_text, "sql": STATEMENT}}]
    reply = reply_to("path", request=request_text, flows=PAGE, state=state)
    assert "execute_sql" in reply["paths"][0]["nodes"]


@pytest.mark.parametrize("question", ["Average order value?", "Best customer?", "Revenue by month"])
def test_a_measure_without_a_column_is_not_guessed(question: str) -> None:
    columns = [
        {"name": "order_id", "type": "TEXT", "key": True},
        {"name": "status", "type": "TEXT", "samples": ["pending"]},
        {"name": "city", "type": "TEXT", "samples": ["Boston"]},
        {"name": "state", "type": "TEXT", "samples": ["TX"]},
    ]
    users = {"name": "users", "columns": [{"name": "user_id", "type": "TEXT", "key": True}]}
    reply = reply_to("generate_sql", question=question, tables=[{"name": "orders", "columns": columns}, users])
    assert reply["kind"] == "cannot"
    assert reply["reason"].endswith(
        "Try: “Number of orders by status”, “Number of orders by city”, “Number of orders by state”."
    )
