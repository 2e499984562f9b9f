"""The domain's ruling on a planned call: proceed, mutate, skip, require approval or deny."""

from typing import Any

import pytest

from parley.events import facts
from parley.events.values import ActionSpec, SessionSettings
from shared.domain import commands as c
from shared.domain.errors import OutOfTurn
from shared.domain.policy import policy_of
from shared.domain.session import Session
from shared.story import finish_action
from tests.unit.domain.spec import (
    AGAIN,
    HAPPENED,
    StoryLine,
    act,
    allow,
    answer,
    done,
    feedback,
    given,
    new_request,
    request,
    say,
    status,
    turn,
    verdict,
)

FLOW = (request("agentflow"),)
FREE = (request("agentflow", approval="never"),)
SAME = {"order": 1}
CHANGES = "it changes something"


def write(id_: str, *after: str, **more: Any) -> ActionSpec:
    return act(id_, *after, **({"effect": "write", "arguments": SAME} | more))


def ruling_of(*before: StoryLine, spec: ActionSpec) -> ActionSpec:
    """The action as the event has it."""
    event = given(*before).when(turn(spec)).then_event()
    assert isinstance(event, facts.TurnPlanned)
    return event.actions[0]


# --- whether a person is asked


@pytest.mark.parametrize(
    ("approval", "effect", "why"),
    [
        ("never", "read", None),
        ("never", "irreversible", None),
        ("writes", "read", None),
        ("writes", "write", CHANGES),
        ("writes", "irreversible", f"{CHANGES} and cannot be undone"),
        ("always", "read", "you asked to be asked about every call"),
        ("always", "write", CHANGES),
    ],
)
def test_the_session_s_policy_holds_for_every_tool(approval: str, effect: str, why: str | None) -> None:
    spec = ruling_of(request("agentflow", approval=approval), spec=act("1.1", effect=effect))
    assert (spec.decision, spec.approval_reason) == ("require_approval" if why else "proceed", why)


@pytest.mark.parametrize(
    ("tool", "person", "wins"),
    [
        (None, None, "writes"),
        ("never", None, "never"),
        ("never", "always", "always"),
        ("always", "never", "never"),
        (None, "deny", "deny"),
        ("deny", "never", "deny"),
        ("deny", None, "deny"),
    ],
)
def test_policies_of_tool_and_user_in_order_of_precedence(tool: Any, person: Any, wins: str) -> None:
    """A tool that its configuration denies stays denied; else the user's policy precedes the tool's own."""
    session = Session("s1", settings=SessionSettings(approval="writes"), policies={"orders": person} if person else {})
    assert policy_of(session, act("1.1", policy=tool)) == wins


def test_repaired_arguments_are_reported() -> None:
    assert ruling_of(*FREE, spec=write("1.1", repairs=("id was a text",))).decision == "mutate"
    assert ruling_of(*FLOW, spec=write("1.1", repairs=("id was a text",))).decision == "require_approval"
    assert ruling_of(*FREE, spec=write("1.1", ask="you said so")).approval_reason == "you said so"


# --- what is not made at all


def test_a_tool_that_the_user_denies_is_not_called() -> None:
    story = (*FREE, c.Remember(tool="orders", policy="deny"))
    result = given(*story).when(turn(act("1.1"), write("1.2", "1.1"))).then("turn.planned")
    result.leaves("verifying", "verifier")
    assert [status(result.session, action_id) for action_id in ("1.1", "1.2")] == ["denied", "denied"]
    assert result.session.turn is not None
    assert {action.error for action in result.session.turn.actions} == {"this tool must not be used here"}
    result.given.when(c.Approve(version=3, action_id="1.1")).refused(OutOfTurn)
    allowed = given(*story, c.Remember(tool="orders", policy="never")).when(turn(act("1.1"))).then("turn.planned")
    allowed.leaves("executing", "executor")


def test_dependents_of_a_denied_call_do_not_run_and_those_of_a_done_call_do() -> None:
    before = (*FREE, turn(write("1.1")), c.Start(), done(), verdict("continue"))
    result = given(*before).when(turn(write("2.1"), act("2.2", "2.1"))).then("turn.planned")
    result.leaves("executing", "executor")
    assert [status(result.session, action_id) for action_id in ("2.1", "2.2")] == ["skipped", "planned"]
    forbidden = (*before, c.Remember(tool="orders", policy="deny"))
    blocked = given(*forbidden).when(turn(write("2.1"), act("2.2", "2.1"))).then("turn.planned")
    assert [status(blocked.session, action_id) for action_id in ("2.1", "2.2")] == ["denied", "denied"]


@pytest.mark.parametrize(
    ("after", "rules"),
    [
        ((c.Start(), done(), verdict("continue")), "skip"),
        ((c.Start(), done(ok=False), verdict("retry", "failure")), "require_approval"),
        ((c.Start(), c.ReportUncertain(action_id="1.1", reason="?"), say(HAPPENED), verdict("continue")), "skip"),
        (
            (
                c.Start(),
                c.ReportUncertain(action_id="1.1", reason="?"),
                say(AGAIN),
                c.Start(),
                finish_action(attempt=2),
                verdict("continue"),
            ),
            "skip",
        ),
        ((c.Stop(), new_request("cancel it after all")), "require_approval"),
        ((c.Skip(action_id="1.1"), verdict("continue", "failure")), "require_approval"),
    ],
    ids=["done", "failed", "it happened", "run again", "stopped", "skipped"],
)
def test_the_same_write_again(after: tuple[StoryLine, ...], rules: str) -> None:
    """A finished write is not repeated, even if the plan asks for it; a failed one may be."""
    allowed = (*FLOW, turn(write("1.1")), allow("1.1"))
    assert ruling_of(*allowed, *after, spec=write("2.1")).decision == rules


@pytest.mark.parametrize("no", [c.Reject(action_id="1.1", reason="no"), c.Expire(requested_version=2)])
def test_a_denied_or_expired_write_is_not_made_for_this_request(no: StoryLine) -> None:
    refused = (*FLOW, turn(write("1.1")), no, verdict("continue", "failure"))
    spec = ruling_of(*refused, spec=write("2.1"))
    assert (spec.decision, spec.decision_reason, spec.approval_reason) == (
        "deny",
        "this very call was refused before",
        None,
    )
    assert ruling_of(*refused, spec=write("2.1", arguments={"order": 2})).decision == "require_approval"
    asked_anew = (*refused, turn(nothing=True), answer(), new_request("yes, do cancel it"))
    assert ruling_of(*asked_anew, spec=write("3.1")).decision == "require_approval"


def test_a_read_runs_as_often_as_it_is_planned() -> None:
    story = (*FLOW, turn(act("1.1", arguments=SAME)), c.Start(), done(), verdict("continue"))
    assert ruling_of(*story, spec=act("2.1", arguments=SAME)).decision == "proceed"


def test_the_order_of_arguments_does_not_change_a_call() -> None:
    one, other = {"a": 1, "b": [1, {"c": 2}]}, {"b": [1, {"c": 2}], "a": 1}
    story = (*FREE, turn(write("1.1", arguments=one)), c.Start(), done(), verdict("continue"))
    assert ruling_of(*story, spec=write("2.1", arguments=other)).decision == "skip"
    assert ruling_of(*story, spec=write("2.1", arguments=other, tool="refunds")).decision == "proceed"


# --- approvals in the loop


def test_a_failed_write_stops_only_its_dependents() -> None:
    """Actions that do not depend on it run."""
    pair = (write("1.1"), write("1.2", arguments={"order": 2}), write("1.3", "1.1", arguments={"order": 3}))
    started = (*FREE, turn(*pair), c.Start(), done("1.1", ok=False))
    result = given(*started).when(done("1.2")).then("actions.finished").leaves("verifying", "verifier")
    assert [status(result.session, action_id) for action_id in ("1.1", "1.2", "1.3")] == [
        "failed",
        "finished",
        "skipped",
    ]


def test_feedback_at_an_approval_drops_the_turn_and_its_earlier_approvals() -> None:
    pair = (write("1.1"), write("1.2", arguments={"order": 2}))
    result = given(*FLOW, turn(*pair), allow("1.1")).when(feedback("wait, only the second")).then("message.received")
    result.leaves("planning", "planner", turn=None)
    assert [(deed.id, deed.status) for deed in result.session.memory.deeds] == [("1.1", "skipped"), ("1.2", "skipped")]
    again = result.given.when(turn(write("2.1"))).then("turn.planned").leaves("awaiting_approval", "user")
    assert status(again.session, "2.1") == "planned"


def test_a_message_while_a_batch_runs_lets_approved_actions_run_on() -> None:
    """A message is not a stop: it is taken in after the turn's verdict."""
    later = (act("1.1"), write("1.2", "1.1"))
    asked = given(*FLOW, turn(*later), c.Start(), say("hurry")).when(done()).then("actions.finished")
    asked.leaves("awaiting_approval", "user", unread=("hurry",))
    run = asked.given.when(allow("1.2")).then("approval.given").leaves("executing", "executor")
    judged = given(c.Start(), done("1.2"), begin=run.session).when(verdict()).then("turn.verified")
    judged.leaves("planning", "planner", feedback=("hurry",))


def test_a_stop_between_approval_and_start_runs_nothing() -> None:
    allowed = given(*FLOW, turn(write("1.1")), allow("1.1"))
    work = allowed.session.work
    stopped = given(c.Stop(), begin=allowed.session)
    assert status(stopped.session, "1.1") == "skipped"
    stopped.when(c.Start(), "executor", work=work).refused(OutOfTurn)
    back = stopped.when(c.Retry()).then("session.retried").leaves("awaiting_approval", "user")
    assert status(back.session, "1.1") == "planned"  # a yes before the stop is none after it
    back.given.when(allow("1.1")).then("approval.given").leaves("executing", "executor")


def test_retry_after_a_stop_keeps_actions_that_the_user_skipped() -> None:
    story = (*FLOW, turn(write("1.1"), write("1.2", arguments={"order": 2})), c.Skip(action_id="1.1"), c.Stop())
    back = given(*story).when(c.Retry()).then("session.retried").leaves("awaiting_approval", "user")
    assert [status(back.session, action_id) for action_id in ("1.1", "1.2")] == ["skipped", "planned"]


def test_a_tool_that_was_denied_meanwhile_cannot_be_approved() -> None:
    waiting = given(*FLOW, turn(write("1.1")), c.Remember(tool="orders", policy="deny"))
    waiting.when(allow("1.1")).refused(OutOfTurn, "denied in this session")
    waiting.when(c.Reject(action_id="1.1")).then("approval.denied").leaves("verifying", "verifier")


def test_a_paused_agentflow_starts_no_step_and_resumes_where_it_was() -> None:
    paused = given(*FLOW, turn(act("1.1"), write("1.2", "1.1")), c.Start(), c.Pause())
    waiting = paused.when(done()).then("actions.finished").leaves("awaiting_approval", "user", paused=True)
    yes = waiting.given.when(allow("1.2")).then("approval.given").leaves("executing", "nobody", work=None)
    yes.given.when(c.Resume()).then("session.resumed").leaves("executing", "executor", paused=False)


def test_a_single_turn_is_answered_whatever_the_verdict() -> None:
    one = (request("agentflow", max_turns=1), turn(act("1.1")), c.Start(), done())
    for next_action in ("continue", "retry", "complete"):
        given(*one).when(verdict(next_action)).then("turn.verified").leaves("answering", "generator")
    given(*one).when(verdict("escalate")).then("turn.verified").leaves("escalated", "user")


def test_endless_verdicts_end_with_the_turn_limit() -> None:
    story: list[StoryLine] = [request("agentflow", max_turns=5)]
    for number in range(1, 6):
        assert given(*story).session.phase == "planning"
        story += [turn(act(f"{number}.1")), c.Start(), done(f"{number}.1"), verdict("continue", "partial")]
    given(*story).when(answer()).then("answer.given").leaves("resting", "nobody", turns=5)


@pytest.mark.parametrize("phase", ["planning", "verifying", "answering"])
def test_a_budget_spent_midway_asks_and_resumes_where_it_was(phase: str) -> None:
    ends = {"planning": 1, "verifying": 4, "answering": 5}
    whole = (*FREE, turn(write("1.1")), c.Start(), done(), verdict())
    asked = given(*whole[: ends[phase]]).when(c.Ask(text="spent", about="budget")).then("question.asked")
    asked.leaves("awaiting_input", "user", resume_phase=phase)
    result = asked.given.when(c.RaiseBudget(tokens=5)).then("budget.raised")
    assert result.session.phase == phase
    if phase == "verifying":
        assert status(result.session, "1.1") == "finished"
