"""The approval of an execution plan starts the turn of its steps, and the event holds the whole turn."""

from parley.events import facts
from parley.events.values import PathPlan, SessionSettings, Step
from shared.domain.kernel import commands as c
from shared.domain.kernel.evolve import evolve
from shared.domain.turn.batches import find_action
from tests.unit.domain.spec import TO_PLAN, Given, approve, given

LOOK = Step(text="Find the order", tool="shop.look")
CANCEL = Step(text="Cancel it", tool="shop.cancel", arguments={"id": 7}, effect="write")


def in_review(*steps: Step, **settings: str) -> Given:
    nodes = tuple(step.tool or "" for step in steps)
    draft = c.DraftPlan(goal="Cancel order 7", steps=steps, kind="path", path=PathPlan(nodes=nodes))
    return given(c.Say(text="cancel", workflow="flow", settings=SessionSettings.model_validate(settings)), draft)


def approval_event(review: Given) -> facts.PlanApproved:
    event = review.when(approve).then_event()
    assert isinstance(event, facts.PlanApproved)
    return event


def test_a_text_plan_starts_no_turn() -> None:
    given(*TO_PLAN).when(approve).then("plan.approved", turn=None, actions=()).leaves("coding", "generator", turn=None)


def test_the_approval_holds_the_turn_number_and_the_ruled_actions() -> None:
    event = approval_event(in_review(LOOK, CANCEL))
    assert event.turn == 1
    look, cancel = event.actions
    assert (look.id, look.tool, look.effect, look.policy, look.decision) == (
        "1.1", "shop.look", "read", "never", "proceed")  # fmt: skip
    assert (cancel.id, cancel.arguments, cancel.depends_on) == ("1.2", {"id": 7}, ("1.1",))
    assert (cancel.effect, cancel.decision, cancel.approval_reason) == (
        "write",
        "require_approval",
        "it changes something",
    )


def test_a_step_of_unknown_effect_needs_no_approval_yet() -> None:
    result = in_review(LOOK, approval="always").when(approve).then("plan.approved")
    result.leaves("executing", "executor", turns=1)


def test_a_step_carries_its_tools_policy() -> None:
    careful = LOOK.model_copy(update={"effect": "read", "policy": "always"})
    in_review(careful).when(approve).then("plan.approved").leaves("awaiting_approval", "user")


def test_a_denied_tool_is_denied_in_the_event() -> None:
    review = in_review(CANCEL)
    denied = given(c.Remember(tool="shop.cancel", policy="deny"), begin=review.session)
    result = denied.when(approve).then("plan.approved").leaves("verifying", "verifier")
    action = find_action(result.session, "1.1")
    assert action
    assert (action.status, action.spec.decision) == ("denied", "deny")


def test_folding_takes_the_turn_and_its_actions_from_the_event() -> None:
    review = in_review(LOOK, CANCEL)
    event = approval_event(review)
    other = event.actions[0].model_copy(update={"id": "9.1", "tool": "shop.other"})
    after = evolve(review.session, event.model_copy(update={"turn": 9, "actions": (other,)}))
    assert after.turn
    assert (after.counts.turns, after.turn.number, [action.spec for action in after.turn.actions]) == (9, 9, [other])
