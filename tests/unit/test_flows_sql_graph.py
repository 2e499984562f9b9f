"""The graph of the flow text_to_sql: its valid paths and its initial state."""

from collections.abc import Sequence

import pytest

from flows.graph_checks import check
from flows.loading import Flows
from flows.text_to_sql.flow import TextToSql
from parley.flow import FlowRequest
from shared.flows import full_path, path_problems
from sql.database import ReadOnlyDatabase
from tests.support.questions import Request, load_requests

FULL = (
    *("classify_prompt", "rewrite_prompt", "get_relevant_tables", "has_user_approved", "trim_relevant_tables"),
    *("generate_sql", "validate_sql", "execute_sql", "format_final_response"),
)


async def _opens() -> ReadOnlyDatabase:
    raise AssertionError("a path is looked at without the database")


async def _hints(user: str, question: str) -> Sequence[tuple[str, str]]:
    raise AssertionError("a path is looked at without what was asked before")


FLOW = TextToSql(_opens, _hints)


def test_it_is_a_flow_of_ten_nodes() -> None:
    spec = FLOW.spec()
    check(spec)
    assert len(spec.nodes) == 10
    assert full_path(spec) == FULL


@pytest.mark.parametrize(
    ("nodes", "have"),
    [
        (FULL, {"request"}),
        (("classify_prompt", "general_questions"), {"request"}),
        (("validate_sql", "execute_sql", "format_final_response"), {"request", "sql"}),
        (("rewrite_prompt", "generate_sql", "validate_sql", "execute_sql", "format_final_response"), {"request"}),
        (("generate_sql", "validate_sql", "execute_sql", "format_final_response"), {"request", "sql", "fix"}),
        (("classify_prompt", "get_relevant_tables", "generate_sql", *FULL[6:]), {"request"}),
    ],
)
def test_these_paths_can_be_walked(nodes: Sequence[str], have: set[str]) -> None:
    assert path_problems(FLOW.spec(), nodes, have) == ()


@pytest.mark.parametrize("item", load_requests(), ids=lambda one: one.id)
def test_the_paths_that_requests_should_take_can_be_walked(item: Request) -> None:
    flows = Flows([FLOW])
    for walk in item.walks():
        flow = flows.find(walk.flow)
        assert flow
        state = flow.opening(FlowRequest(request=item.request))
        for nodes in (walk.path, *walk.also):
            assert path_problems(flow.spec(), nodes, {*flow.starts, *state, "findings"}) == ()
        for name in ("sql", "fix"):
            assert state.get(name, False) == item.given.get(name, False)


@pytest.mark.parametrize("choice", ["text_to_sql", "text to sql", " Text to SQL "])
def test_the_choice_of_a_flow_is_no_word_about_the_question(choice: str) -> None:
    state = FLOW.opening(FlowRequest(request="orders", feedback=(choice, "of this year")))
    assert state == {"request": "orders", "feedback": "of this year"}


def test_no_query_runs_before_a_node_has_made_it() -> None:
    assert "validate_sql needs sql" in path_problems(FLOW.spec(), FULL[6:], {"request"})[0]
