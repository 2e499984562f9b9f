"""Which plans a user may write, and repeated approvals."""

import pytest

from parley.events.hashing import canonical_hash
from parley.events.values import Step
from shared.domain import commands as c
from shared.domain.errors import AlreadyDone, Invalid, OutOfTurn, Stale
from tests.unit.domain.spec import (
    CODING,
    TO_CODE,
    TO_DONE,
    TO_PLAN,
    StoryLine,
    answer,
    draft,
    edit,
    given,
    reject,
    request,
    turn,
)

DRAFTED = (request("conversation"), draft())


def edited(*steps: Step) -> c.EditPlan:
    return c.EditPlan(base=2, steps=steps)


def test_a_step_must_have_text() -> None:
    with pytest.raises(Invalid, match="Step 2 is blank"):
        given(*DRAFTED, edited(Step(text="Ask"), Step(text=" ")))


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (Step(text="Look", tool="get_order_details", arguments={"order_id": "#W1"}), "calls get_order_details"),
        (Step(text="Look", tool="get_order_details"), "calls get_order_details"),
        (Step(text="Look", arguments={"order_id": "#W1"}), r"has arguments \(order_id\)"),
    ],
)
def test_a_text_plan_cannot_have_calls(call: Step, why: str) -> None:
    """The edit is refused, rather than losing its calls, and the message names the workflow that supports them."""
    with pytest.raises(Invalid, match=f"Step 2 {why}: a text plan calls nothing. Choose “Plan and act” for that."):
        given(*DRAFTED, edited(Step(text="Ask"), call))


@pytest.mark.parametrize("before", [CODING, TO_CODE, TO_DONE])
def test_a_second_approval_of_the_same_plan_is_refused(before: tuple[StoryLine, ...]) -> None:
    plan = given(*before).session.plan
    assert plan
    given(*before).when(c.Approve(version=2)).refused(AlreadyDone, "Version 2 is approved already")
    given(*before).when(c.Approve(version=2, hash=plan.hash)).refused(AlreadyDone, "nothing was done twice")


def test_a_second_approval_of_the_same_code_is_refused() -> None:
    code = given(*TO_DONE).session.code
    assert code
    given(*TO_DONE).when(c.Approve(version=code.version, hash=code.hash)).refused(AlreadyDone)


def test_other_refused_decisions_are_not_reported_as_repeated() -> None:
    given(*TO_CODE).when(c.Approve(version=2, hash=canonical_hash("another plan"))).refused(Stale, "version 4 is")
    given(*TO_PLAN, reject).when(c.Approve(version=2)).refused(OutOfTurn, "no plan or code in review")
    given(*CODING).when(c.Reject(version=2)).refused(OutOfTurn, "no plan or code in review")


def test_editing_a_missing_plan_is_refused_with_advice() -> None:
    answered = given(request("agentflow"), turn(nothing=True), answer())
    answered.when(c.EditPlan(base=1, steps=(Step(text="Ask"),))).refused(OutOfTurn, "no plan to edit in this session")
    answered.when(c.EditCode(base=1, code="1")).refused(OutOfTurn, "no code to edit in this session")
    result = given(*TO_CODE, edit("other")).when(c.EditCode(base=4, code="1"))
    result.refused(OutOfTurn, "approve the plan first")


def test_an_edit_during_work_is_refused_with_advice_to_stop() -> None:
    words = "The session is coding: a plan can be edited while it is in review or the session rests. Stop it first."
    given(*CODING).when(c.EditPlan(base=2, steps=(Step(text="Ask"),))).refused(OutOfTurn, words)
    given(*CODING).when(c.EditCode(base=2, code="1")).refused(OutOfTurn, "code can be edited while it is in review")
