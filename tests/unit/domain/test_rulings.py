"""Before actions start, their tools' own effects and policies count, and not what an event says of them."""

from typing import Any

import pytest

from parley.events import facts
from parley.events.values import ActionSpec, PathPlan, ToolRule
from shared.domain import commands as c
from shared.domain.errors import Stale
from shared.domain.evolve import evolve
from shared.domain.session import Session, undecided
from shared.domain.wording import UNCERTAIN_OPTIONS
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
    given,
    request,
    runs,
    status,
    turn,
    verdict,
    waves,
)

READS, WRITES, GONE = ToolRule(effect="read"), ToolRule(effect="write"), ToolRule(effect="irreversible")
DENIED = ToolRule(effect="read", policy="deny")


def start(orders: ToolRule = WRITES) -> c.Start:
    return c.Start(tools={"orders": orders})


def forged(*specs: ActionSpec, approval: str = "writes", **told: Any) -> Given:
    """A turn as a planner's own words in the log: nothing in it was ruled by the domain."""
    honest = given(request("agentflow", approval=approval))
    event = honest.when(turn(act("1.1"))).then_event()
    return Given(evolve(honest.session, event.model_copy(update={"actions": specs, **told})))


def asks(session: Session, action_id: str = "1.1") -> str:
    """Why a person is asked about this action."""
    return next(a.spec.approval_reason or "" for a in undecided(session.turn) if a.spec.id == action_id)


# --- what an event must not talk the executor into


def test_a_write_that_its_plan_lets_proceed_waits_for_a_person() -> None:
    held = forged(act("1.1", effect="write")).when(start()).then("turn.changed").leaves("awaiting_approval", "user")
    assert asks(held.session) == "it changes something; the plan would not have asked you"
    yes = held.given.when(allow("1.1")).then("approval.given").leaves("executing", "executor")
    yes.given.when(start()).then("actions.started", actions=runs("1.1"))
    held.given.when(c.Reject(action_id="1.1")).then("approval.denied").leaves("verifying", "verifier")


@pytest.mark.parametrize(
    ("planned", "tool", "why"),
    [
        ("read", WRITES, "it changes something; the plan says that it only reads"),
        ("read", GONE, "it changes something and cannot be undone; the plan says that it only reads"),
        ("write", GONE, "it changes something and cannot be undone; the plan says that it can be undone"),
    ],
)
def test_a_plan_that_says_too_little_of_a_tool_is_told_to_the_person(planned: str, tool: ToolRule, why: str) -> None:
    held = forged(act("1.1", effect=planned)).when(start(tool)).then("turn.changed")
    held.leaves("awaiting_approval", "user")
    assert asks(held.session) == why
    assert undecided(held.session.turn)[0].spec.effect == tool.effect


def test_a_tool_s_own_policy_counts_and_not_the_one_in_the_plan() -> None:
    always = ToolRule(effect="read", policy="always")
    held = forged(act("1.1", policy="never")).when(start(always)).then("turn.changed")
    assert asks(held.session) == "you asked to be asked about every call; the plan would not have asked you"
    refused = forged(act("1.1", policy="never")).when(start(DENIED)).then("turn.changed")
    refused.leaves("verifying", "verifier")
    assert status(refused.session, "1.1") == "denied"


def test_where_nobody_wants_to_be_asked_the_effect_is_put_right_and_the_wave_goes_on() -> None:
    """So that a write counts as one: it runs in its order, and is not made twice."""
    ruled = forged(act("1.1"), approval="never").when(start()).then("turn.changed").leaves("executing", "executor")
    assert ruled.session.turn is not None
    assert ruled.session.turn.actions[0].spec.effect == "write"
    ruled.given.when(start()).then("actions.started")


def test_a_plan_cannot_speak_for_a_person() -> None:
    specs = (act("1.1", effect="write"),)
    held = forged(*specs, actor="user:ann").when(start()).then("turn.changed").leaves("awaiting_approval", "user")
    assert held.session.turn is not None
    assert not held.session.turn.taken_over


def test_what_was_shown_as_a_read_and_allowed_is_shown_again_as_what_it_is() -> None:
    misled = given(allow("1.1"), begin=forged(act("1.1", ask="please look")).session)
    held = misled.when(start()).then("turn.changed").leaves("awaiting_approval", "user")
    assert asks(held.session) == "it changes something; the plan says that it only reads"
    given(allow("1.1"), begin=held.session).when(start()).then("actions.started")
    misled.when(start(READS)).then("actions.started")


def test_a_change_that_was_made_is_not_made_again_whatever_a_plan_says() -> None:
    same: dict[str, Any] = {"effect": "write", "arguments": {"order": 1}}
    free = (request("agentflow", approval="never"), turn(act("1.1", **same)), start(), done(), verdict("continue"))
    event = given(*free).when(turn(act("2.1", **same), act("2.2"))).then_event()
    assert isinstance(event, facts.TurnPlanned)
    again = event.model_copy(update={"actions": (act("2.1", **same),)})
    skipped = Given(evolve(given(*free).session, again)).when(start()).then("turn.changed")
    assert status(skipped.leaves("verifying", "verifier").session, "2.1") == "skipped"


@pytest.mark.parametrize("about", ["uncertain", "action"])
@pytest.mark.parametrize("said", [AGAIN, "yes"])
def test_the_answer_to_a_question_is_no_approval(about: str, said: str) -> None:
    """Every service may ask questions: a yes to one of them allows nothing."""
    path = PathPlan(nodes=("orders",))
    waits = forged(act("1.1", effect="write", ask="a write"), path=path).session
    question = {"question_id": "1.1", "kind": about, "text": "Is the weather fine?", "options": UNCERTAIN_OPTIONS}
    told = {"id": "s1:x", "session_id": "s1", "version": waits.version + 1, "at": NOON, "actor": "generator"}
    asked = evolve(waits, facts.QuestionAsked.model_validate(told | question))
    answered = {
        "id": "s1:y",
        "version": asked.version + 1,
        "actor": "user:ann",
        "question_id": "1.1",
        "text": said,
        "key": "again",
    }
    after = evolve(asked, facts.QuestionAnswered.model_validate(told | answered))
    if after.phase == "executing":
        Given(after).when(start()).then("turn.changed").leaves("awaiting_approval", "user")
    assert not after.turn or not after.turn.actions[0].allowed


def test_a_yes_to_what_was_shown_is_none_to_what_took_its_place() -> None:
    """Also from a client that names no hash, only the version of the session that it showed."""
    waits = given(request("agentflow"), turn(act("1.1", effect="write")))
    planned = given(request("agentflow")).when(turn(act("1.1", effect="write", arguments={"id": "other"}))).then_event()
    other = Given(evolve(waits.session, planned.model_copy(update={"version": waits.session.version + 1, "turn": 1})))
    other.when(c.Approve(version=waits.session.version, action_id="1.1")).refused(Stale, "has been decided")
    other.when(allow("1.1")).then("approval.given")


def test_on_a_path_one_node_starts_at_a_time() -> None:
    """A path is one node after the other, whatever an event says of what they wait for."""
    two = forged(act("1.1"), act("1.2"), path=PathPlan(nodes=("orders", "orders")))
    assert waves(two.session) == ("1.1",)


def test_a_change_in_an_approved_path_is_asked_for_with_its_effect() -> None:
    path = PathPlan(nodes=("orders",))
    steps = c.DraftPlan(goal="g", steps=({"text": "cancel", "tool": "orders"},), kind="path", path=path)
    approved = given(request("flow"), steps, c.Approve(version=2))
    approved.when(start()).then("turn.changed").leaves("awaiting_approval", "user")


# --- what honest services do goes on as ever


@pytest.mark.parametrize("approval", ["never", "writes", "always"])
@pytest.mark.parametrize("tool", [READS, WRITES, GONE])
def test_what_the_domain_ruled_by_the_same_words_starts(approval: str, tool: ToolRule) -> None:
    planned = given(request("agentflow", approval=approval), turn(act("1.1", effect=tool.effect)))
    if planned.session.phase == "awaiting_approval":
        planned = given(allow("1.1"), begin=planned.session)
    planned.when(start(tool)).then("actions.started")


def test_a_tool_that_does_less_than_planned_starts_and_one_that_is_gone_fails_by_itself() -> None:
    free = given(request("agentflow", approval="never"), turn(act("1.1", effect="write")))
    free.when(start(READS)).then("actions.started")
    free.when(c.Start()).then("actions.started")


def test_what_a_reason_in_the_plan_asked_about_is_asked_once() -> None:
    story = (request("agentflow", approval="never"), turn(act("1.1", ask="look first")), allow("1.1"))
    given(*story).when(start(READS)).then("actions.started")


def test_a_policy_that_became_stricter_since_it_was_planned_holds() -> None:
    planned = (request("agentflow"), turn(act("1.1")))
    held = given(*planned, c.Remember(tool="orders", policy="always")).when(start(READS)).then("turn.changed")
    held.leaves("awaiting_approval", "user")
    allowed = (request("agentflow"), turn(act("1.1", effect="write")), allow("1.1"))
    denied = given(*allowed, c.Remember(tool="orders", policy="deny")).when(start()).then("turn.changed")
    assert status(denied.leaves("verifying", "verifier").session, "1.1") == "denied"


def test_only_what_is_ruled_anew_waits_and_the_wave_with_it() -> None:
    pair = forged(act("1.1", tool="look"), act("1.2", effect="write"))
    held = pair.when(start()).then("turn.changed").leaves("awaiting_approval", "user")
    assert [status(held.session, one) for one in ("1.1", "1.2")] == ["planned", "planned"]
    given(allow("1.2"), begin=held.session).when(start()).then("actions.started", actions=runs("1.1", "1.2"))


def test_what_a_person_allowed_stays_allowed_when_the_action_beside_it_is_ruled_anew() -> None:
    write, look = act("1.1", effect="write", tool="cancel"), act("1.2")
    asked = given(request("agentflow"), turn(write, look, act("1.3", "1.2")), allow("1.1"))
    held = asked.when(start()).then("turn.changed", turn=1).leaves("awaiting_approval", "user")
    assert isinstance(held.event, facts.TurnChanged)
    assert [spec.id for spec in held.event.actions] == ["1.1", "1.2", "1.3"]
    assert held.event.reason == "1.2 is ruled as write: it changes something; the plan says that it only reads"
    assert [status(held.session, one) for one in ("1.1", "1.2", "1.3")] == ["approved", "planned", "planned"]
    held.given.when(allow("1.2")).then("approval.given").leaves("executing", "executor")


# --- a person's own calls


def take(*specs: ActionSpec) -> c.TakeOver:
    return c.TakeOver(sub_goal="my own", actions=specs)


def test_a_person_s_own_calls_need_no_other_yes() -> None:
    mine = given(*ESCALATED, take(act("2.1", effect="write")))
    mine.when(start()).then("actions.started")
    runs = given(*TO_DONE, c.Run())
    runs.when(c.Start(tools={"run_code": ToolRule(effect="read", policy="always")})).then("actions.started")


def test_a_person_s_own_call_of_a_tool_that_does_more_or_is_denied_is_not_made_unasked() -> None:
    mine = given(*ESCALATED, take(act("2.1")))
    held = mine.when(start()).then("turn.changed").leaves("awaiting_approval", "user")
    assert asks(held.session, "2.1") == "it changes something; the plan says that it only reads"
    denied = mine.when(start(DENIED)).then("turn.changed")
    assert status(denied.session, "2.1") == "denied"


def test_a_person_may_repeat_what_was_done() -> None:
    same: dict[str, Any] = {"effect": "write", "arguments": {"order": 1}}
    before = (request("agentflow", approval="never"), turn(act("1.1", **same)), start(), done(), verdict("escalate"))
    given(*before, take(act("2.1", **same))).when(start()).then("actions.started")


def test_a_person_s_own_calls_that_they_stopped_are_asked_for_when_they_are_tried_again() -> None:
    back = given(*ESCALATED, take(act("2.1", effect="write")), c.Stop(), c.Retry())
    back.when(start()).then("turn.changed").leaves("awaiting_approval", "user")


def test_what_is_ruled_after_the_turn_was_left_changes_nothing() -> None:
    """Folding is total: an event that came too late is one that was decided by somebody who is not honest."""
    held = forged(act("1.1", effect="write"))
    event = held.when(start()).then_event()
    rests = given(turn(nothing=True), answer(), begin=given(request("agentflow")).session).session
    assert evolve(rests, event.model_copy(update={"version": rests.version + 1})).phase == "resting"


MAIL = act("1.2", "1.1", effect="irreversible").model_copy(update={"tool": "send_mail"})
NEVER_AGAIN = c.Remember(tool="send_mail", policy="deny")


@pytest.mark.parametrize(
    ("approval", "lines"),
    [
        ("never", (start(READS), NEVER_AGAIN, done("1.1"))),
        ("writes", (start(READS), done("1.1"), allow("1.2"), NEVER_AGAIN)),
    ],
)
@pytest.mark.parametrize("known", [{}, {"send_mail": GONE}])
def test_a_tool_denied_in_mid_turn_runs_no_more_in_it(
    approval: str, lines: tuple[StoryLine, ...], known: dict[str, ToolRule]
) -> None:
    """Whether its call was never asked about or has been allowed already, and also where nobody knows the tool."""
    waits = given(request("agentflow", approval=approval), turn(act("1.1"), MAIL), *lines)
    assert waves(waits.session) == ("1.2",)
    told = waits.when(c.Start(tools=known)).then("turn.changed").leaves("verifying", "verifier")
    assert status(told.session, "1.2") == "denied"
