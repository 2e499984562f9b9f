"""Sessions that begin with the user's own plan."""

import pytest

from parley.events.values import Step
from shared.domain.kernel import commands as c
from shared.domain.kernel.errors import Invalid, OutOfTurn
from tests.unit.domain.spec import approve
from tests.unit.domain.test_execution_plan import CANCEL, DRAFTED, LOOK, plan, session_after, status

BEGIN = c.Say(text="Cancel my order", workflow="execution_plan", brings_plan=True)


def test_a_user_can_begin_a_session_with_their_own_plan() -> None:
    started = session_after(BEGIN)
    assert (started.phase, started.work, started.plan) == ("resting", None, None)
    in_review = session_after(BEGIN, c.EditPlan(base=1, steps=(LOOK, CANCEL)))
    assert in_review.plan
    assert (in_review.phase, in_review.plan.task, in_review.plan.number, in_review.plan.kind) == (
        "awaiting_approval",
        "t2",
        1,
        "execution",
    )
    assert (in_review.plan.goal, in_review.plan.by) == ("Cancel my order", "user:ann")
    running = session_after(BEGIN, c.EditPlan(base=1, steps=(LOOK, CANCEL)), approve)
    assert (running.phase, status(running)) == ("executing", {"t2.s1": "planned", "t2.s2": "planned"})


def test_a_session_can_begin_with_the_users_text_plan_but_not_with_a_path() -> None:
    text = session_after(c.Say(text="Write it", brings_plan=True), c.EditPlan(base=1, steps=(Step(text="Write"),)))
    assert text.plan
    assert (text.plan.kind, text.plan.task, text.phase) == ("text", "", "awaiting_approval")
    with pytest.raises(OutOfTurn):
        session_after(
            c.Say(text="Ask it", workflow="flow", brings_plan=True), c.EditPlan(base=1, steps=(Step(text="Ask"),))
        )


def test_a_users_own_plan_is_validated_and_can_only_begin_a_session() -> None:
    with pytest.raises(Invalid, match="depends on s1, which is not a step of the plan"):
        session_after(BEGIN, c.EditPlan(base=1, steps=(CANCEL,)))
    with pytest.raises(OutOfTurn, match="begins a session"):
        session_after(*DRAFTED, plan(LOOK), BEGIN)
    with pytest.raises(OutOfTurn):
        session_after(BEGIN, c.Complete(), c.EditPlan(base=2, steps=(LOOK,)))
