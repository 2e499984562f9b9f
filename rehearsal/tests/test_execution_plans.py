"""Execution plans that the rehearsal model drafts for the examples of the page and the documentation."""

from typing import Any

import pytest

from rehearsal.examples import EXAMPLES
from rehearsal.tests.contract import PLANNED, Part, asked, reply_to

INTRODUCTION = "I am jude.mendes3817@example.com."
TOOLS = [{"name": "calculate"}, {"name": "get_order_details"}]


def plan(request: str, *talk: Part) -> dict[str, Any]:
    return reply_to("execution_plan", *talk, request=request, tools=TOOLS)


def calls(reply: dict[str, Any]) -> list[tuple[str, Any, list[str]]]:
    return [(step["tool"], step["arguments"].get("order_id"), step["after"]) for step in reply["steps"]]


@pytest.mark.parametrize("request_", EXAMPLES["execution_plan"])
def test_each_example_is_planned(request_: str) -> None:
    reply = plan(request_)
    assert (reply["kind"], reply["goal"]) == ("plan", request_)
    assert [step["id"] for step in reply["steps"]] == [f"s{number}" for number in range(1, len(reply["steps"]) + 1)]


def test_all_named_orders_are_looked_up_and_only_the_requested_ones_cancelled() -> None:
    assert calls(plan(f"{INTRODUCTION} Look up orders #W3997796 and #W3990615, and cancel #W4260124.")) == [
        ("find_user_id_by_email", None, []),
        ("get_order_details", "#W3997796", ["s1"]),
        ("get_order_details", "#W3990615", ["s1"]),
        ("get_order_details", "#W4260124", ["s1"]),
        ("cancel_pending_order", "#W4260124", ["s4"]),
    ]
    both = plan(f"{INTRODUCTION} Cancel #W4260124 and #W3990615, I ordered them by mistake. Where is #W3997796?")
    assert [step["arguments"]["reason"] for step in both["steps"] if "cancel" in step["tool"]] == [
        "ordered by mistake"
    ] * 2
    assert calls(both)[-1] == ("get_order_details", "#W3997796", ["s1"])


def test_feedback_and_answers_change_the_plan() -> None:
    revised = plan(f"{INTRODUCTION} Look up #W3997796.", PLANNED, ("message", "Cancel #W4260124, too"))
    assert [tool for tool, _, _ in calls(revised)][-1] == "cancel_pending_order"
    question = plan("Cancel #W4260124.")
    assert (question["kind"], "e-mail" in question["text"]) == ("question", True)
    answered = plan("Cancel #W4260124.", *asked(question["text"], "jude.mendes3817@example.com"))
    assert answered["steps"][0]["arguments"] == {"email": "jude.mendes3817@example.com"}


def test_each_explicit_call_depends_on_the_one_before() -> None:
    reply = plan('Call calculate with {"expression": "1 + 1"}, then call get_order_details with {"order_id": "#W1"}')
    assert [(step["tool"], step["after"]) for step in reply["steps"]] == [
        ("calculate", []),
        ("get_order_details", ["s1"]),
    ]


def test_other_requests_are_refused_with_examples() -> None:
    reply = plan("Water my plants")
    assert (reply["kind"], reply["options"]) == ("question", list(EXAMPLES["execution_plan"]))
