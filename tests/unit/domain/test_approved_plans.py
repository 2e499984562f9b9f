"""The approval of a plan whose steps act is the beginning of their turn, and the event holds all of it."""

from parley.events import facts
from parley.events.values import PathPlan, SessionSettings, Step
from shared.domain import commands as c
from shared.domain.evolve import evolve
from shared.domain.waves import find
from tests.unit.domain.spec import TO_PLAN, Given, approve, given

LOOK = Step(text="Find the order", tool="shop.look")
CANCEL = Step(text="Cancel it", tool="shop.cancel", arguments={"id": 7}, effect="write")


def in_review(*steps: Step, **settings: str) -> Given:
    nodes = tuple(step.tool or "" for step in steps)
    draft = c.DraftPlan(goal="Cancel order 7", steps=steps, kind="path", path=PathPlan(nodes=nodes))
    return given(c.Say(text="cancel", workflow="flow", settings=SessionSettings.model_validate(settings)), draft)


def approved(review: Given) -> facts.PlanApproved:
    event = review.when(approve).then_event()
    assert isinstance(event, facts.PlanApproved)
    return event


def test_a_plan_of_words_begins_no_turn() -> None:
    given(*TO_PLAN).when(approve).then("plan.approved", turn=None, actions=()).leaves("coding", "generator", turn=None)


def test_the_event_holds_the_number_and_the_ruled_actions() -> None:
    event = approved(in_review(LOOK, CANCEL))
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


def test_a_step_whose_effect_is_not_known_yet_is_not_asked_about() -> None:
    told = in_review(LOOK, approval="always").when(approve).then("plan.approved")
    told.leaves("executing", "executor", turns=1)


def test_a_tool_s_own_policy_comes_with_the_step() -> None:
    careful = LOOK.model_copy(update={"effect": "read", "policy": "always"})
    in_review(careful).when(approve).then("plan.approved").leaves("awaiting_approval", "user")


def test_a_denied_tool_is_denied_in_the_event() -> None:
    review = in_review(CANCEL)
    denied = given(c.Remember(tool="shop.cancel", policy="deny"), begin=review.session)
    told = denied.when(approve).then("plan.approved").leaves("verifying", "verifier")
    action = find(told.session, "1.1")
    assert action
    assert (action.status, action.spec.decision) == ("denied", "deny")


def test_folding_makes_no_action_of_its_own() -> None:
    review = in_review(LOOK, CANCEL)
    event = approved(review)
    other = event.actions[0].model_copy(update={"id": "9.1", "tool": "shop.other"})
    after = evolve(review.session, event.model_copy(update={"turn": 9, "actions": (other,)}))
    assert after.turn
    assert (after.counts.turns, after.turn.number, [action.spec for action in after.turn.actions]) == (9, 9, [other])
