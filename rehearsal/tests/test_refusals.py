"""Requests that no rule covers lead to a question with three examples that work."""

from typing import Any

import pytest

from rehearsal.examples import EXAMPLES
from rehearsal.refusals import DEMO_MODEL
from rehearsal.tests.contract import PLANNED, Part, asked, reply_to, steps_of
from rehearsal.tests.flow_fixtures import PAGE
from rehearsal.text_plans import CHANGES

UNKNOWN = ("Write a snake game in pygame", "Plan a trip to Japan for 5 days", "hello", "Cancel order #W3990615 for me")
PLAN = "Goal: Write a simple calculator in Python.\n1. Add\n2. Divide"


def plan_reply(request: str, *talk: Part, plan: str = "") -> dict[str, Any]:
    return reply_to("text_plan", *talk, request=request, plan=plan)


def path_reply(request: str, *talk: Part) -> dict[str, Any]:
    return reply_to("path", *talk, request=request, flows=PAGE, state=[{"text_to_sql": {"request": request}}])


@pytest.mark.parametrize("request_", UNKNOWN)
def test_an_unknown_request_is_answered_with_examples(request_: str) -> None:
    reply = plan_reply(request_)
    assert reply["kind"] == "question"
    assert DEMO_MODEL in reply["text"]
    assert reply["options"] == list(EXAMPLES["conversation"])


@pytest.mark.parametrize("example", EXAMPLES["conversation"])
@pytest.mark.parametrize("plan", ["", PLAN])
def test_each_program_example_replaces_the_request(example: str, plan: str) -> None:
    for request in UNKNOWN:
        question = plan_reply(request)["text"]
        reply = plan_reply(request, *asked(question, example), plan=plan)
        assert reply["kind"] == "plan"
        assert reply == plan_reply(example)
        code = reply_to("code", request=request, plan=f"Goal: {reply['goal']}\n1. {steps_of(reply)[0]}")
        assert "Here is" in code["explanation"]


@pytest.mark.parametrize("example", EXAMPLES["flow"])
@pytest.mark.parametrize("request_", ["hello", "Plan a trip to Japan for 5 days", "What can you do?"])
def test_each_question_example_replaces_the_request(request_: str, example: str) -> None:
    question = path_reply(request_)["text"]
    reply = path_reply(request_, *asked(question, example))
    assert reply["paths"][0]["flow"] == "text_to_sql"
    assert reply_to("classify_prompt", request=request_, feedback=example, tables="orders")["category"] == "data"
    assert reply_to("rewrite_prompt", request=request_, feedback=example)["question"] == example


@pytest.mark.parametrize("feedback", ["paint it blue", "hello"])
def test_unclear_feedback_leads_to_a_question_and_each_option_to_a_plan(feedback: str) -> None:
    talk: tuple[Part, ...] = (PLANNED, ("message", feedback))
    reply = plan_reply("a calculator", *talk, plan=PLAN)
    assert f"“{feedback}”" in reply["text"]
    for option in reply["options"]:
        changed = plan_reply("a calculator", *talk, *asked(reply["text"], option), plan=PLAN)
        assert changed["kind"] == "plan"
        assert changed["steps"]
        assert feedback in changed["notes"]
    assert tuple(reply["options"]) == CHANGES


def test_a_refused_call_is_explained_without_the_reply_that_proposed_it() -> None:
    problems = 'get_order: no order #W1.\nYou proposed: {"actions":[{"tool":"get_order"}]}'
    tools = '{"name": "get_order", "arguments": {"order_id": {"type": "string"}}}'
    reply = reply_to(
        "turn", request='Call get_order with {"order_id": "#W1"}', tools=tools, problems=problems, turn="1 of 20"
    )
    assert reply == {"kind": "nothing_to_do", "reason": "The call cannot be made: get_order: no order #W1."}
