"""A turn that works on several sub-goals: each action names its own, and each gets a verdict."""

from typing import Any

import pytest

from parley.events.values import SubGoalVerdict
from shared.domain import commands as c
from shared.domain.errors import Invalid
from shared.domain.sub_goals import TURN_SUB_GOALS, of_turn
from shared.story import finish
from tests.unit.domain.spec import act, given, request, say, turn, verdict

FLOW = (request("agentflow", max_turns=9, approval="never"),)
CANCEL, MOVE = "Cancel order 1", "Change the address of order 2"
BOTH = turn(act("1.1", sub_goal=CANCEL), act("1.2", sub_goal=MOVE), sub_goals=(CANCEL, MOVE, "Tell the customer"))
RAN = (*FLOW, BOTH, c.Start(), finish("1.1", ok=True, result="done"), finish("1.2", ok=False, error="no such order"))


def judged(next_action: Any, status: Any, **sub_goals: Any) -> c.VerifyTurn:
    """A verdict on the whole turn, and on each of its sub-goals, by their keys `cancel` and `move`."""
    names = {"cancel": CANCEL, "move": MOVE}
    each = tuple(SubGoalVerdict(sub_goal=names[key], status=one, reasoning="seen") for key, one in sub_goals.items())
    return c.VerifyTurn(status=status, next_action=next_action, reasoning="seen", sub_goals=each)


def standing(told: Any) -> dict[str, str]:
    return {goal.goal: goal.status for goal in told.session.memory.sub_goals}


def test_the_actions_of_a_turn_name_their_sub_goals() -> None:
    planned = given(*FLOW).when(BOTH).then("turn.planned", needs=2)
    assert planned.session.turn
    assert of_turn(planned.session.turn) == {CANCEL: ("1.1",), MOVE: ("1.2",)}
    assert standing(planned) == dict.fromkeys((CANCEL, MOVE, "Tell the customer"), "pending")


def test_an_action_that_names_none_is_for_the_turns_own_sub_goal() -> None:
    mixed = turn(act("1.1", sub_goal=CANCEL), act("1.2"))
    planned = given(*FLOW).when(mixed).then("turn.planned")
    assert planned.session.turn
    assert of_turn(planned.session.turn) == {CANCEL: ("1.1",), "look at the order": ("1.2",)}


def test_each_sub_goal_stands_as_its_own_verdict_says() -> None:
    """What was reached is not tried again with the rest."""
    told = given(*RAN).when(judged("retry", "partial", cancel="success", move="failure"))
    retried = told.then("turn.verified", needs=2).leaves("planning", "planner")
    assert standing(retried) == {CANCEL: "completed", MOVE: "pending", "Tell the customer": "pending"}
    assert retried.session.turn
    assert retried.session.turn.verdict
    assert [one.status for one in retried.session.turn.verdict.sub_goals] == ["success", "failure"]
    given_up = given(*RAN).when(judged("continue", "partial", cancel="success", move="failure")).then("turn.verified")
    assert standing(given_up) == {CANCEL: "completed", MOVE: "failed", "Tell the customer": "pending"}


def test_a_request_that_is_fulfilled_has_reached_what_no_verdict_speaks_of() -> None:
    done = given(*RAN).when(judged("complete", "success", cancel="success", move="failure")).then("turn.verified")
    assert standing(done) == {CANCEL: "completed", MOVE: "failed", "Tell the customer": "completed"}


def test_a_verdict_on_the_turn_alone_counts_for_all_of_its_sub_goals() -> None:
    told = given(*RAN).when(verdict("continue", "failure")).then("turn.verified", needs=1)
    assert standing(told) == {CANCEL: "failed", MOVE: "failed", "Tell the customer": "pending"}


def test_a_turn_of_one_sub_goal_is_stored_as_before() -> None:
    planned = given(*FLOW).when(turn(act("1.1"))).then("turn.planned", needs=1)
    assert "sub_goal" not in planned.event.model_dump(mode="json")["actions"][0]
    ended = planned.given.session
    verified = given(c.Start(), finish("1.1", ok=True), begin=ended).when(verdict()).then("turn.verified", needs=1)
    assert "sub_goals" not in verified.event.model_dump(mode="json")


def test_a_turn_works_on_a_few_sub_goals_at_once() -> None:
    several = [act(f"1.{number}", sub_goal=f"Goal {number}") for number in range(1, TURN_SUB_GOALS + 2)]
    given(*FLOW).when(turn(*several[:-1])).then("turn.planned").leaves("executing", "executor")
    given(*FLOW).when(turn(*several)).refused(Invalid, "at most 4 sub-goals")


@pytest.mark.parametrize("named", [("cancel",), ("cancel", "cancel")])
def test_a_verdict_speaks_of_each_sub_goal_once(named: tuple[str, ...]) -> None:
    each = tuple(SubGoalVerdict(sub_goal=CANCEL, status="success") for _ in named)
    one_sided = c.VerifyTurn(status="success", next_action="complete", reasoning="seen", sub_goals=each)
    given(*RAN).when(one_sided).refused(Invalid, MOVE)


def test_what_is_said_meanwhile_does_not_undo_a_verdict() -> None:
    told = given(*RAN, say("and hurry")).when(judged("continue", "partial", cancel="success", move="partial"))
    assert standing(told.then("turn.verified"))[CANCEL] == "completed"
