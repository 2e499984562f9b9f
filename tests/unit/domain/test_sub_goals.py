"""A turn with several sub-goals: each action names one, and each gets a verdict."""

from typing import Any

import pytest

from parley.events.values import SubGoalVerdict
from shared.domain.kernel import commands as c
from shared.domain.kernel.errors import Invalid
from shared.domain.transcript.sub_goals import TURN_SUB_GOALS, actions_by_sub_goal
from shared.story import finish_action
from tests.unit.domain.spec import act, given, request, say, turn, verdict

AGENTFLOW = (request("agentflow", max_turns=9, approval="never"),)
CANCEL, MOVE = "Cancel order 1", "Change the address of order 2"
BOTH = turn(act("1.1", sub_goal=CANCEL), act("1.2", sub_goal=MOVE), sub_goals=(CANCEL, MOVE, "Tell the customer"))
RAN = (
    *AGENTFLOW,
    BOTH,
    c.Start(),
    finish_action("1.1", ok=True, result="done"),
    finish_action("1.2", ok=False, error="no such order"),
)


def verify(next_action: Any, status: Any, **sub_goals: Any) -> c.VerifyTurn:
    """A verdict on the turn and on each sub-goal, by the keys `cancel` and `move`."""
    names = {"cancel": CANCEL, "move": MOVE}
    each = tuple(
        SubGoalVerdict(sub_goal=names[key], status=sub_goal, reasoning="seen") for key, sub_goal in sub_goals.items()
    )
    return c.VerifyTurn(status=status, next_action=next_action, reasoning="seen", sub_goals=each)


def sub_goal_statuses(result: Any) -> dict[str, str]:
    return {goal.goal: goal.status for goal in result.session.memory.sub_goals}


def test_the_actions_of_a_turn_name_their_sub_goals() -> None:
    planned = given(*AGENTFLOW).when(BOTH).then("turn.planned")
    assert planned.session.turn
    assert actions_by_sub_goal(planned.session.turn) == {CANCEL: ("1.1",), MOVE: ("1.2",)}
    assert sub_goal_statuses(planned) == dict.fromkeys((CANCEL, MOVE, "Tell the customer"), "pending")


def test_an_action_without_a_sub_goal_gets_the_turns_sub_goal() -> None:
    mixed = turn(act("1.1", sub_goal=CANCEL), act("1.2"))
    planned = given(*AGENTFLOW).when(mixed).then("turn.planned")
    assert planned.session.turn
    assert actions_by_sub_goal(planned.session.turn) == {CANCEL: ("1.1",), "look at the order": ("1.2",)}


def test_each_sub_goal_has_the_status_of_its_own_verdict() -> None:
    """A completed sub-goal is not retried with the others."""
    result = given(*RAN).when(verify("retry", "partial", cancel="success", move="failure"))
    retried = result.then("turn.verified").leaves("planning", "planner")
    assert sub_goal_statuses(retried) == {CANCEL: "completed", MOVE: "pending", "Tell the customer": "pending"}
    assert retried.session.turn
    assert retried.session.turn.verdict
    assert [sub_goal.status for sub_goal in retried.session.turn.verdict.sub_goals] == ["success", "failure"]
    given_up = given(*RAN).when(verify("continue", "partial", cancel="success", move="failure")).then("turn.verified")
    assert sub_goal_statuses(given_up) == {CANCEL: "completed", MOVE: "failed", "Tell the customer": "pending"}


def test_a_fulfilled_request_completes_sub_goals_without_a_verdict() -> None:
    done = given(*RAN).when(verify("complete", "success", cancel="success", move="failure")).then("turn.verified")
    assert sub_goal_statuses(done) == {CANCEL: "completed", MOVE: "failed", "Tell the customer": "completed"}


def test_a_verdict_on_the_turn_counts_for_all_its_sub_goals() -> None:
    result = given(*RAN).when(verdict("continue", "failure")).then("turn.verified")
    assert sub_goal_statuses(result) == {CANCEL: "failed", MOVE: "failed", "Tell the customer": "pending"}


def test_the_sub_goals_of_a_turn_are_limited() -> None:
    several = [act(f"1.{number}", sub_goal=f"Goal {number}") for number in range(1, TURN_SUB_GOALS + 2)]
    given(*AGENTFLOW).when(turn(*several[:-1])).then("turn.planned").leaves("executing", "executor")
    given(*AGENTFLOW).when(turn(*several)).refused(Invalid, "at most 4 sub-goals")


@pytest.mark.parametrize("named", [("cancel",), ("cancel", "cancel")])
def test_a_verdict_must_name_each_sub_goal_once(named: tuple[str, ...]) -> None:
    each = tuple(SubGoalVerdict(sub_goal=CANCEL, status="success") for _ in named)
    incomplete = c.VerifyTurn(status="success", next_action="complete", reasoning="seen", sub_goals=each)
    given(*RAN).when(incomplete).refused(Invalid, MOVE)


def test_a_message_does_not_undo_a_verdict() -> None:
    result = given(*RAN, say("and hurry")).when(verify("continue", "partial", cancel="success", move="partial"))
    assert sub_goal_statuses(result.then("turn.verified"))[CANCEL] == "completed"
