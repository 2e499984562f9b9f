"""When actions start, their tools' current effects and policies decide, not those in the plan's event."""

from typing import Any

import pytest

from parley.events import facts
from parley.events.values import ActionSpec, PathPlan, ToolRule
from shared.domain.kernel import commands as c
from shared.domain.kernel.errors import Stale
from shared.domain.kernel.evolve import evolve
from shared.domain.kernel.session import Session, undecided_actions
from shared.domain.kernel.wording import UNCERTAIN_OPTIONS
from shared.story import StoryLine
from tests.unit.domain.spec import (
    AGAIN,
    ESCALATED,
    NOON,
    TO_DONE,
    Given,
    act,
    allow,
    answer,
    done,
    first_attempts,
    given,
    next_batch_ids,
    request,
    status,
    turn,
    verdict,
)

READ, WRITE, IRREVERSIBLE = ToolRule(effect="read"), ToolRule(effect="write"), ToolRule(effect="irreversible")
DENIED = ToolRule(effect="read", policy="deny")


def start(orders: ToolRule = WRITE) -> c.Start:
    return c.Start(tools={"orders": orders})


def unruled(*specs: ActionSpec, approval: str = "writes", **result: Any) -> Given:
    """A planned turn that bypassed the domain's rulings, as a faulty planner could publish it."""
    ruled_turn = given(request("agentflow", approval=approval))
    event = ruled_turn.when(turn(act("1.1"))).then_event()
    return Given(evolve(ruled_turn.session, event.model_copy(update={"actions": specs, **result})))


def approval_reason_of(session: Session, action_id: str = "1.1") -> str:
    """The action's approval reason."""
    return next(a.spec.approval_reason or "" for a in undecided_actions(session.turn) if a.spec.id == action_id)


# --- the executor does not trust events


def test_a_write_without_a_ruling_waits_for_approval() -> None:
    waiting = unruled(act("1.1", effect="write")).when(start()).then("turn.changed").leaves("awaiting_approval", "user")
    assert approval_reason_of(waiting.session) == "it changes something; the plan would not have asked you"
    yes = waiting.given.when(allow("1.1")).then("approval.given").leaves("executing", "executor")
    yes.given.when(start()).then("actions.started", actions=first_attempts("1.1"))
    waiting.given.when(c.Reject(action_id="1.1")).then("approval.denied").leaves("verifying", "verifier")


@pytest.mark.parametrize(
    ("planned", "tool", "why"),
    [
        ("read", WRITE, "it changes something; the plan says that it only reads"),
        ("read", IRREVERSIBLE, "it changes something and cannot be undone; the plan says that it only reads"),
        ("write", IRREVERSIBLE, "it changes something and cannot be undone; the plan says that it can be undone"),
    ],
)
def test_a_plan_that_understates_a_tools_effect_is_reported(planned: str, tool: ToolRule, why: str) -> None:
    waiting = unruled(act("1.1", effect=planned)).when(start(tool)).then("turn.changed")
    waiting.leaves("awaiting_approval", "user")
    assert approval_reason_of(waiting.session) == why
    assert undecided_actions(waiting.session.turn)[0].spec.effect == tool.effect


def test_the_tools_current_policy_counts_not_the_planned_one() -> None:
    always = ToolRule(effect="read", policy="always")
    waiting = unruled(act("1.1", policy="never")).when(start(always)).then("turn.changed")
    assert (
        approval_reason_of(waiting.session)
        == "you asked to be asked about every call; the plan would not have asked you"
    )
    refused = unruled(act("1.1", policy="never")).when(start(DENIED)).then("turn.changed")
    refused.leaves("verifying", "verifier")
    assert status(refused.session, "1.1") == "denied"


def test_without_approvals_the_effect_is_corrected_and_the_batch_goes_on() -> None:
    """From then on the action is a write: it runs in order and is not repeated."""
    ruled = unruled(act("1.1"), approval="never").when(start()).then("turn.changed").leaves("executing", "executor")
    assert ruled.session.turn is not None
    assert ruled.session.turn.actions[0].spec.effect == "write"
    ruled.given.when(start()).then("actions.started")


def test_a_plan_cannot_approve_its_own_actions() -> None:
    specs = (act("1.1", effect="write"),)
    waiting = unruled(*specs, actor="user:ann").when(start()).then("turn.changed").leaves("awaiting_approval", "user")
    assert waiting.session.turn is not None
    assert not waiting.session.turn.taken_over


def test_a_write_approved_as_a_read_needs_approval_again() -> None:
    misled = given(allow("1.1"), begin=unruled(act("1.1", ask="please look")).session)
    waiting = misled.when(start()).then("turn.changed").leaves("awaiting_approval", "user")
    assert approval_reason_of(waiting.session) == "it changes something; the plan says that it only reads"
    given(allow("1.1"), begin=waiting.session).when(start()).then("actions.started")
    misled.when(start(READ)).then("actions.started")


def test_a_finished_write_is_not_repeated_whatever_the_plan_says() -> None:
    same: dict[str, Any] = {"effect": "write", "arguments": {"order": 1}}
    free = (request("agentflow", approval="never"), turn(act("1.1", **same)), start(), done(), verdict("continue"))
    event = given(*free).when(turn(act("2.1", **same), act("2.2"))).then_event()
    assert isinstance(event, facts.TurnPlanned)
    again = event.model_copy(update={"actions": (act("2.1", **same),)})
    skipped = Given(evolve(given(*free).session, again)).when(start()).then("turn.changed")
    assert status(skipped.leaves("verifying", "verifier").session, "2.1") == "skipped"


@pytest.mark.parametrize("about", ["uncertain", "action"])
@pytest.mark.parametrize("answer", [AGAIN, "yes"])
def test_the_answer_to_a_question_is_no_approval(about: str, answer: str) -> None:
    """Any service may ask questions, so an answer approves nothing."""
    path = PathPlan(nodes=("orders",))
    waits = unruled(act("1.1", effect="write", ask="a write"), path=path).session
    question = {"question_id": "1.1", "kind": about, "text": "Is the weather fine?", "options": UNCERTAIN_OPTIONS}
    result = {"id": "s1:x", "session_id": "s1", "version": waits.version + 1, "at": NOON, "actor": "generator"}
    asked = evolve(waits, facts.QuestionAsked.model_validate(result | question))
    answered = {
        "id": "s1:y",
        "version": asked.version + 1,
        "actor": "user:ann",
        "question_id": "1.1",
        "text": answer,
        "key": "again",
    }
    after = evolve(asked, facts.QuestionAnswered.model_validate(result | answered))
    if after.phase == "executing":
        Given(after).when(start()).then("turn.changed").leaves("awaiting_approval", "user")
    assert not after.turn or not after.turn.actions[0].allowed


def test_an_approval_does_not_cover_an_action_that_replaced_the_shown_one() -> None:
    """This also holds for a client that sends only the session's version, and no hash."""
    waits = given(request("agentflow"), turn(act("1.1", effect="write")))
    planned = given(request("agentflow")).when(turn(act("1.1", effect="write", arguments={"id": "other"}))).then_event()
    other = Given(evolve(waits.session, planned.model_copy(update={"version": waits.session.version + 1, "turn": 1})))
    other.when(c.Approve(version=waits.session.version, action_id="1.1")).refused(Stale, "has been decided")
    other.when(allow("1.1")).then("approval.given")


def test_on_a_path_one_node_starts_at_a_time() -> None:
    """Nodes run one after the other, whatever dependencies the event states."""
    two = unruled(act("1.1"), act("1.2"), path=PathPlan(nodes=("orders", "orders")))
    assert next_batch_ids(two.session) == ("1.1",)


def test_a_write_in_an_approved_path_needs_approval() -> None:
    path = PathPlan(nodes=("orders",))
    steps = c.DraftPlan(goal="g", steps=({"text": "cancel", "tool": "orders"},), kind="path", path=path)
    approved = given(request("flow"), steps, c.Approve(version=2))
    approved.when(start()).then("turn.changed").leaves("awaiting_approval", "user")


# --- correct plans are not affected


@pytest.mark.parametrize("approval", ["never", "writes", "always"])
@pytest.mark.parametrize("tool", [READ, WRITE, IRREVERSIBLE])
def test_actions_with_an_unchanged_ruling_start(approval: str, tool: ToolRule) -> None:
    planned = given(request("agentflow", approval=approval), turn(act("1.1", effect=tool.effect)))
    if planned.session.phase == "awaiting_approval":
        planned = given(allow("1.1"), begin=planned.session)
    planned.when(start(tool)).then("actions.started")


def test_a_tool_with_a_weaker_effect_starts_and_a_missing_tool_fails() -> None:
    free = given(request("agentflow", approval="never"), turn(act("1.1", effect="write")))
    free.when(start(READ)).then("actions.started")
    free.when(c.Start()).then("actions.started")


def test_a_call_with_an_approval_reason_is_approved_only_once() -> None:
    story = (request("agentflow", approval="never"), turn(act("1.1", ask="look first")), allow("1.1"))
    given(*story).when(start(READ)).then("actions.started")


def test_a_policy_made_stricter_after_planning_applies() -> None:
    planned = (request("agentflow"), turn(act("1.1")))
    waiting = given(*planned, c.Remember(tool="orders", policy="always")).when(start(READ)).then("turn.changed")
    waiting.leaves("awaiting_approval", "user")
    allowed = (request("agentflow"), turn(act("1.1", effect="write")), allow("1.1"))
    denied = given(*allowed, c.Remember(tool="orders", policy="deny")).when(start()).then("turn.changed")
    assert status(denied.leaves("verifying", "verifier").session, "1.1") == "denied"


def test_only_actions_with_a_new_ruling_need_approval_and_their_batch_waits() -> None:
    pair = unruled(act("1.1", tool="look"), act("1.2", effect="write"))
    waiting = pair.when(start()).then("turn.changed").leaves("executing", "executor")
    assert [status(waiting.session, action_id) for action_id in ("1.1", "1.2")] == ["planned", "planned"]
    waiting.given.when(start()).then("actions.started", actions=first_attempts("1.1"))
    given(allow("1.2"), begin=waiting.session).when(start()).then("actions.started", actions=first_attempts("1.1"))


def test_an_approval_stays_valid_when_another_action_gets_a_new_ruling() -> None:
    write, look = act("1.1", effect="write", tool="cancel"), act("1.2")
    asked = given(request("agentflow"), turn(write, look, act("1.3", "1.2")), allow("1.1"))
    waiting = asked.when(start()).then("turn.changed", turn=1).leaves("awaiting_approval", "user")
    assert isinstance(waiting.event, facts.TurnChanged)
    assert [spec.id for spec in waiting.event.actions] == ["1.1", "1.2", "1.3"]
    assert waiting.event.reason == "1.2 is ruled as write: it changes something; the plan says that it only reads"
    assert [status(waiting.session, action_id) for action_id in ("1.1", "1.2", "1.3")] == [
        "approved",
        "planned",
        "planned",
    ]
    waiting.given.when(allow("1.2")).then("approval.given").leaves("executing", "executor")


# --- calls by the user


def take(*specs: ActionSpec) -> c.TakeOver:
    return c.TakeOver(sub_goal="my own", actions=specs)


def test_a_users_own_calls_need_no_approval() -> None:
    mine = given(*ESCALATED, take(act("2.1", effect="write")))
    mine.when(start()).then("actions.started")
    runs = given(*TO_DONE, c.Run())
    runs.when(c.Start(tools={"run_code": ToolRule(effect="read", policy="always")})).then("actions.started")


def test_a_users_own_call_needs_approval_if_its_tool_has_a_stronger_effect() -> None:
    mine = given(*ESCALATED, take(act("2.1")))
    waiting = mine.when(start()).then("turn.changed").leaves("awaiting_approval", "user")
    assert approval_reason_of(waiting.session, "2.1") == "it changes something; the plan says that it only reads"
    denied = mine.when(start(DENIED)).then("turn.changed")
    assert status(denied.session, "2.1") == "denied"


def test_a_user_may_repeat_a_finished_call() -> None:
    same: dict[str, Any] = {"effect": "write", "arguments": {"order": 1}}
    before = (request("agentflow", approval="never"), turn(act("1.1", **same)), start(), done(), verdict("escalate"))
    given(*before, take(act("2.1", **same))).when(start()).then("actions.started")


def test_a_users_own_calls_need_approval_after_a_stop() -> None:
    back = given(*ESCALATED, take(act("2.1", effect="write")), c.Stop(), c.Retry())
    back.when(start()).then("turn.changed").leaves("awaiting_approval", "user")


def test_a_ruling_published_after_the_turn_changes_nothing() -> None:
    """`evolve` accepts any event, including one that was published too late."""
    waiting = unruled(act("1.1", effect="write"))
    event = waiting.when(start()).then_event()
    rests = given(turn(nothing=True), answer(), begin=given(request("agentflow")).session).session
    assert evolve(rests, event.model_copy(update={"version": rests.version + 1})).phase == "resting"


MAIL = act("1.2", "1.1", effect="irreversible").model_copy(update={"tool": "send_mail"})
NEVER_AGAIN = c.Remember(tool="send_mail", policy="deny")


@pytest.mark.parametrize(
    ("approval", "lines"),
    [
        ("never", (start(READ), NEVER_AGAIN, done("1.1"))),
        ("writes", (start(READ), done("1.1"), allow("1.2"), NEVER_AGAIN)),
    ],
)
@pytest.mark.parametrize("known", [{}, {"send_mail": IRREVERSIBLE}])
def test_a_call_of_a_tool_that_was_denied_during_the_turn_does_not_run(
    approval: str, lines: tuple[StoryLine, ...], known: dict[str, ToolRule]
) -> None:
    """The call needed no approval or was already approved; the tool is known or unknown to the executor."""
    waits = given(request("agentflow", approval=approval), turn(act("1.1"), MAIL), *lines)
    assert next_batch_ids(waits.session) == ("1.2",)
    result = waits.when(c.Start(tools=known)).then("turn.changed").leaves("verifying", "verifier")
    assert status(result.session, "1.2") == "denied"
