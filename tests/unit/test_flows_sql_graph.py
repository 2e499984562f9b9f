"""The graph of the flow text_to_sql: its valid paths and its initial state."""

from collections.abc import Sequence

import pytest

from flows.text_to_sql.flow import TextToSql
from parley.flow import FlowRequest, State
from sql.database import ReadOnlyDatabase

TO_SQL = (
    *("classify_prompt", "rewrite_prompt", "get_relevant_tables", "has_user_approved", "trim_relevant_tables"),
    "generate_sql",
)
RUN_SQL = ("validate_sql", "execute_sql", "format_final_response")
FULL_PATH = (*TO_SQL, *RUN_SQL)


async def _open_database() -> ReadOnlyDatabase:
    raise AssertionError("checking a path must not open the database")


async def _hints(user: str, question: str) -> Sequence[tuple[str, str]]:
    raise AssertionError("checking a path must not look up earlier questions")


FLOW = TextToSql(_open_database, _hints)


@pytest.mark.parametrize("choice", ["text_to_sql", "text to sql", " Text to SQL "])
def test_feedback_that_names_the_flow_is_dropped(choice: str) -> None:
    state = FLOW.opening(FlowRequest(request="orders", feedback=(choice, "of this year")))
    assert state == {"request": "orders", "feedback": "of this year"}


def test_a_query_that_the_person_objected_to_is_the_one_to_change() -> None:
    so_far: State = {"sql": "SELECT 2", "explanation": "two", "valid": True}
    objected = FlowRequest(request="Fix `SELECT 1`", feedback=("three, please",), so_far=so_far)
    state = FLOW.opening(objected)
    assert (state.get("sql"), state["objected_sql"]) == (None, "SELECT 2")
    assert "objected_sql" not in FLOW.opening(objected._replace(feedback=()))
    own = FLOW.opening(objected._replace(so_far={"valid": True}))
    assert (own.get("sql"), own["objected_sql"]) == (None, "SELECT 1"), "the person's own query is not run again either"
    earlier: tuple[State, ...] = ({"question": "Orders?", "sql": "SELECT 3", "tables": ["orders"]},)
    assert FLOW.opening(objected._replace(earlier=earlier))["previous_sql"] == "SELECT 3"
