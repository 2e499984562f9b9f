"""Which plans a user may write, and repeated approvals."""

import pytest

from parley.events.hashing import canonical_hash
from parley.events.values import Step
from shared.domain.kernel import commands as c
from shared.domain.kernel.errors import AlreadyDone, Invalid, OutOfTurn, Stale
from tests.unit.domain.spec import (
    CODING,
    TO_CODE,
    TO_DONE,
    TO_PLAN,
    StoryLine,
    answer,
    approve,
    draft,
    edit,
    given,
    reject,
    request,
    turn,
)
from tests.unit.domain.test_plan_approval import EACH, LOOK, PAY, finish_step, plan, resolve, undecided_ids

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


@pytest.mark.parametrize("late", [c.Approve(version=2), c.Reject(version=2)])
@pytest.mark.parametrize("step", [PAY, EACH], ids=["one waits", "two wait"])
def test_a_late_decision_on_a_plan_is_none_on_the_actions_that_wait_now(step: Step, late: c.Approve | c.Reject) -> None:
    waits = given(request("execution_plan"), plan(LOOK, step), approve, c.Start(), finish_step("s1"), resolve)
    waits.when(late).refused(Stale, "You approved the plan. What you saw at version 2 has been decided. Look at what")
    waits.when(c.Reject(version=2, action_id=undecided_ids(waits.session)[0])).then("approval.denied")


@pytest.mark.parametrize(("before", "after", "is_changed"), [(1, True, True), (0, False, True), (1, 1.0, False)])
def test_an_edit_from_a_number_to_a_truth_value_is_a_change(before: int, after: float, is_changed: bool) -> None:
    first, other = (LOOK.model_copy(update={"arguments": {"n": value}}) for value in (before, after))
    in_review = given(request("execution_plan"), plan(first))
    edit_ = in_review.when(c.EditPlan(base=2, steps=(other,)))
    if is_changed:
        edit_.then("plan.edited")
    else:
        edit_.refused(Invalid, "The edit changes nothing.")


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
