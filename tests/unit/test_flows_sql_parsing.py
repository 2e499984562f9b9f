"""The flow text_to_sql: SQL in a request, tables that fit a question, the user's choice of tables, prompt sizes."""

import json
from typing import Any

import pytest

from flows.text_to_sql import node_texts, table_choice
from flows.text_to_sql.user_sql import find_sql, find_sql_in_conversation
from parley.flow import FlowRequest
from sql.schema import ColumnInfo, Schema, TableInfo
from tests.support.cpu_time import takes_at_most

SHOP = Schema(
    dialect="sqlite",
    tables=(
        TableInfo(
            name="orders",
            columns=(
                ColumnInfo(name="order_id", type="TEXT", key=True),
                ColumnInfo(name="user_id", type="TEXT", references="users.user_id"),
            ),
        ),
        TableInfo(name="users"),
        TableInfo(name="payments"),
        TableInfo(name="order_items"),
    ),
)


@pytest.mark.parametrize(
    ("request_text", "sql", "fix"),
    [
        ("Fix this SQL: SELEC * FORM orders WHERE", "SELEC * FORM orders WHERE", True),
        ("Run SELECT * FROM orders", "SELECT * FROM orders", False),
        ("SELECT name FROM users", "SELECT name FROM users", False),
        ("SELECT 1", "SELECT 1", False),
        ("select order_id, status from orders", "select order_id, status from orders", False),
        ("Please run `select count(*) from orders`", "select count(*) from orders", False),
        ("This query doesn't work: select coutn(*) from orders", "select coutn(*) from orders", True),
        ("Fix this:\n```sql\nSELECT 1 +\n```\nthanks", "SELECT 1 +", True),
        ('What does "SELECT * FROM orders" return?', "SELECT * FROM orders", False),
        ("WITH x AS (SELECT 1) SELECT * FROM x", "WITH x AS (SELECT 1) SELECT * FROM x", False),
        ("DELETE FROM orders", "DELETE FROM orders", False),
        ("Show orders; drop table users", "drop table users", False),
        ("UPDATE orders SET status = 'x'", "UPDATE orders SET status = 'x'", False),
    ],
)
def test_a_statement_in_the_request_is_found(request_text: str, sql: str, fix: bool) -> None:
    assert find_sql(request_text) == (sql, fix)


CHAT = "user: SELEC 1\n\nassistant: `SELECT 2` is a query.\n\nuser: Why?"


@pytest.mark.parametrize(
    ("request_text", "feedback", "conversation", "sql"),
    [
        ("Fix this SQL", ("slect id form orders",), CHAT, "slect id form orders"),
        ("Fix this SQL", ("I have none", "Select id, name form orders"), "", "Select id, name form orders"),
        ("Fix this SQL", ("I have none",), "", ""),
        ("fix it!", (), CHAT, "SELECT 2"),
        ("Please fix my query", (), "user: SELEC 1\n\nFORM orders", "SELEC 1\n\nFORM orders"),
        ("Fix this SQL: SELEC 3 FORM orders", ("SELEC 4",), CHAT, "SELEC 3 FORM orders"),
        ("How many items arrived broken?", ("select those",), CHAT, ""),
        ("How many orders are pending?", (), CHAT, ""),
    ],
)
def test_the_statement_to_repair_may_be_in_an_earlier_message(
    request_text: str, feedback: tuple[str, ...], conversation: str, sql: str
) -> None:
    assert find_sql_in_conversation(FlowRequest(request_text, feedback, conversation=conversation)) == (sql, bool(sql))


@pytest.mark.parametrize(
    "request_text",
    [
        "How many orders are pending?",
        "Select all pending orders from Texas",
        "select the cheapest items from the store",
        "Select customers from Texas whose order's late",
        "Please delete from my cart the shoes",
        "insert into my basket two lamps",
        "Update the address of order 5",
        "with orders from Texas, what's the count?",
        "Which customers select express delivery from Texas?",
        "Explain select to me",
        "Explain this SQL: SELECT 1",
        "please explain `SELECT COUNT(*) FROM orders`",
        "What does this query mean? SELECT * FROM orders",
        "Create a chart of orders",
        "Can you correct the order status?",
        "What is wrong with the order #W1?",
        "Grant me access",
        "Drop me a line",
        "",
    ],
)
def test_english_sentences_are_not_taken_for_statements(request_text: str) -> None:
    assert find_sql(request_text) == ("", False)


@pytest.mark.parametrize(
    ("answer", "allowed"),
    [
        ("yes", ["orders", "users"]),
        ("Looks good!", ["orders", "users"]),
        ("ok, without users", ["orders"]),
        ("not users", ["orders"]),
        ("yes, but without users, and add payments", ["orders", "payments"]),
        ("add payments", ["orders", "users", "payments"]),
        ("also payments and order_items", ["orders", "users", "payments", "order_items"]),
        ("leave out orders and users, add payments", ["payments"]),
        ("only orders", ["orders"]),
        ("orders, payments", ["orders", "payments"]),
        ("ORDERS with Payments", ["orders", "payments"]),
        ("no, use payments", ["payments"]),
        ("order_items", ["order_items"]),
        ("yes, but no users", ["orders"]),
        ("no users", ["orders"]),
        ("No users, please", ["orders"]),
        ("don’t use users", ["orders"]),
        ("don't use users", ["orders"]),
        ("exclude users", ["orders"]),
        ("ok, ignore users", ["orders"]),
        ("yes to orders, no to users", ["orders"]),
        ("just use payments instead of users", ["payments"]),
        ("payments rather than users", ["payments"]),
        ("yes but use payments instead of users", ["orders", "payments"]),
        ("don't use them", []),
        ("don’t use them", []),
        ("don't use them, use payments", []),
        ("never use them", []),
        ("not ok", []),
        ("No, that's not right", []),
        ("not approved", []),
        ("I do not agree", []),
        ("don't go ahead", []),
        ("I'm not sure", []),
        ("no", []),
        ("I meant the customers' cities", []),
        ('{"tables": ["payments", "nothing", "Orders"]}', ["payments", "orders"]),
        ('{"tables": []}', []),
        ("", []),
    ],
)
def test_the_user_s_answer_approves_tables(answer: str, allowed: list[str]) -> None:
    assert table_choice.approved_tables(answer, ["orders", "users"], SHOP) == allowed


@pytest.mark.parametrize("words", ["with as ( ", "select ", "explain select ", "`select` ", "```x```"])
def test_a_long_text_is_searched_in_little_time(words: str) -> None:
    """The search runs on the executor's event loop and would block its other work."""
    text = words * (50_000 // len(words))
    assert find_sql(text) == ("", False)
    assert takes_at_most(5, lambda: find_sql(text))


def test_a_small_schema_gives_all_tables_and_a_large_one_those_that_fit_the_question() -> None:
    assert table_choice.rank_tables("anything", SHOP) == ["orders", "users", "payments", "order_items"]
    other_tables = tuple(TableInfo(name=f"table_{number}") for number in range(20))
    city = TableInfo(name="places", columns=(ColumnInfo(name="town", type="TEXT", samples=("Austin",)),))
    large = Schema(dialect="sqlite", tables=(*other_tables, *SHOP.tables, city))
    assert table_choice.rank_tables("How many orders were paid in Austin?", large)[:2] == ["orders", "order_items"]
    assert "places" in table_choice.rank_tables("How many orders were paid in Austin?", large)
    assert len(table_choice.rank_tables("Nothing fits", large)) == table_choice.MAX_CHOSEN


def test_a_query_is_written_from_approved_tables_before_chosen_ones() -> None:
    def table_names(**state: object) -> list[str]:
        return [table.name for table in table_choice.relevant_schema(state, "x", SHOP).tables]  # type: ignore[arg-type]

    assert table_names(approved_tables=["users"], tables=[{"name": "orders"}]) == ["users"]
    assert table_names(approved_tables=[], tables=[{"name": "orders", "reason": "r"}]) == ["orders"]
    assert table_names(tables=["gone"], previous_tables=["orders"]) == ["orders", "users", "payments", "order_items"]


def test_the_form_shows_all_tables_and_stays_bounded() -> None:
    form = table_choice.choice_form({"users": "who"}, SHOP)
    listed = form["tables"]
    assert isinstance(listed, list)
    assert listed[0] == {"name": "users", "reason": "who", "chosen": True, "columns": []}
    columns = ["order_id TEXT key", "user_id TEXT → users.user_id"]
    assert listed[1] == {"name": "orders", "reason": "", "chosen": False, "columns": columns}
    column = ColumnInfo(name="c" * 60, type="TEXT")
    wide = tuple(TableInfo(name=f"t{number}", columns=(column,) * 90) for number in range(500))
    assert len(json.dumps(table_choice.choice_form({}, Schema(dialect="postgres", tables=wide)))) < 120_000


def test_a_prompt_of_a_large_schema_has_columns_only_of_tables_that_fit_the_question() -> None:
    column = ColumnInfo(name="note", type="TEXT", samples=("x" * 60,))
    other_tables = tuple(TableInfo(name=f"t{number}", columns=(column,)) for number in range(50))
    large = Schema(dialect="sqlite", tables=(*other_tables, TableInfo(name="salaries", columns=(column,))))
    result = table_choice.schema_lines("What are the salaries?", large, budget=1_000)
    assert len(result) == 51
    assert json.loads(result[-1])["columns"]
    assert json.loads(result[49]) == {"name": "t49"}
    assert sum(map(len, result)) < 2_000
    assert table_choice.schema_lines("x", SHOP) == SHOP.lines()


def test_the_rows_in_a_prompt_are_limited() -> None:
    assert node_texts.row_lines([[1], ["a"]]) == ["[1]", '["a"]']
    assert len(node_texts.row_lines([[n] for n in range(99)])) == node_texts.MAX_ROWS
    assert len(node_texts.row_lines([["x" * 9_000]] * 9)) == 2
    assert len(node_texts.row_lines([["x" * 90_000]])[0]) == node_texts.MAX_ROW_TEXT


ANSWERED_RUN = {
    "request": "count them",
    "kind": "data",
    "question": "How many orders?",
    "sql": "select 1",
    "tables": [],
}


@pytest.mark.parametrize(
    ("runs", "question", "sql"),
    [
        ([ANSWERED_RUN], "How many orders?", "select 1"),
        ([ANSWERED_RUN, {"request": "thanks!", "kind": "general", "answer": "!"}], "How many orders?", "select 1"),
        ([ANSWERED_RUN, {"request": "and the weather?", "kind": "unanswerable"}], None, None),
        ([{"request": "run this: SELECT 2 AS n"}], "run this: SELECT 2 AS n", "SELECT 2 AS n"),
        ([{"request": "hello", "kind": "general"}], None, None),
        ([], None, None),
    ],
)
def test_the_previous_question_comes_from_the_newest_run_about_data(
    runs: list[dict[str, Any]], question: str | None, sql: str | None
) -> None:
    result = node_texts.previous_question_state(runs)
    assert (result.get("previous_question"), result.get("previous_sql")) == (question, sql)
