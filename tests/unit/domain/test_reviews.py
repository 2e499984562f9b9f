"""A person's own version of a plan: what it may hold."""

import pytest

from parley.events.values import Step
from shared.domain import commands as c
from shared.domain.errors import Invalid
from tests.unit.domain.spec import draft, given, request

DRAFTED = (request("conversation"), draft())


def edited(*steps: Step) -> c.EditPlan:
    return c.EditPlan(base=2, steps=steps)


def test_a_step_says_something() -> None:
    with pytest.raises(Invalid, match="Step 2 is blank"):
        given(*DRAFTED, edited(Step(text="Ask"), Step(text=" ")))


def test_a_text_plan_calls_nothing() -> None:
    call = Step(text="Look", tool="get_order_details", arguments={"order_id": "#W1"})
    with pytest.raises(Invalid, match="Step 1 calls get_order_details: a text plan calls nothing"):
        given(*DRAFTED, edited(call))
