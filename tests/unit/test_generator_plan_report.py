"""The report on a plan: of each step what it gave, in a line."""

from typing import Any

import pytest

from parley.events.values import ActionSpec
from services.generator.execution_plan import report
from shared.domain.state import Action, Turn


def line(result: Any, **more: Any) -> str:
    action = Action(ActionSpec(id="t1.s1", tool="look", description="Look it up"), result=result, **more)
    return report(Turn(1, "Do it", (action,), "planner")).text


@pytest.mark.parametrize(
    ("result", "told"),
    [
        ("ada_1", "1. Look it up: ada_1"),
        ({"order_id": "#W1", "items": [1, 2], "status": "pending"}, "1. Look it up: order id #W1, status pending"),
        ({"name": "a.md", "sha256": "f" * 100}, "1. Look it up: name a.md"),
        ({"items": []}, "1. Look it up"),
        ([1, 2], "1. Look it up"),
        ("x" * 300, "1. Look it up"),
        (7, "1. Look it up: 7"),
    ],
)
def test_what_a_step_gave_is_told_as_far_as_it_is_short(result: Any, told: str) -> None:
    assert line(result, status="finished") == told


def test_a_step_that_was_not_done_says_why() -> None:
    assert line(None, status="failed", error="order not found") == "1. Look it up: **not done**, order not found"
