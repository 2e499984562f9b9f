"""The report on a plan has a line for each step, with its output or error."""

from typing import Any

import pytest

from parley.events.values import ActionSpec
from services.generator.execution_plan import plan_answer
from shared.domain.kernel.state import Action, ActionStatus, Turn


def line(result: Any, **more: Any) -> str:
    action = Action(ActionSpec(id="t1.s1", tool="look", description="Look it up"), result=result, **more)
    return plan_answer(Turn(1, "Do it", (action,), "planner")).text


@pytest.mark.parametrize(
    ("result", "message"),
    [
        ("ada_1", "1. Look it up: ada_1"),
        ({"order_id": "#W1", "items": [1, 2], "status": "pending"}, "1. Look it up: order id #W1, status pending"),
        ({"name": "a.md", "sha256": "f" * 500}, "1. Look it up: name a.md"),
        ({"items": []}, "1. Look it up"),
        ([1, 2], "1. Look it up"),
        ("x" * 500, "1. Look it up"),
        (7, "1. Look it up: 7"),
    ],
)
def test_the_short_output_of_a_step_is_reported(result: Any, message: str) -> None:
    assert line(result, status="finished") == message


def test_a_step_for_each_item_of_an_empty_list_is_not_reported_as_done() -> None:
    action = Action(ActionSpec(id="t1.s1", tool="cancel", description="Cancel it"), result=[], status="finished")
    text = plan_answer(Turn(1, "Do it", (action,), "planner"), repeated=("s1",)).text
    assert text == "1. Cancel it: nothing to do, as its list was empty"


@pytest.mark.parametrize("status", ["skipped", "denied"])
def test_a_step_that_was_begun_before_may_have_taken_effect(status: ActionStatus) -> None:
    action = Action(ActionSpec(id="t1.s1", tool="cancel", description="Cancel it"), status=status)
    text = plan_answer(Turn(1, "Do it", (action,), "planner"), in_doubt={"t1.s1"}).text
    assert text.endswith("it was begun before, and nobody can tell whether it took effect")
