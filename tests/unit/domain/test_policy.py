"""The domain's ruling on a planned call: proceed, mutate, skip, require approval or deny."""

from typing import Any

import pytest

from parley.events import facts
from parley.events.values import ActionSpec, SessionSettings
from shared.domain.kernel import commands as c
from shared.domain.kernel.errors import OutOfTurn
from shared.domain.kernel.session import Session
from shared.domain.plan.policy import policy_of
from shared.story import finish_action
from tests.unit.domain.spec import (
    AGAIN,
    HAPPENED,
    StoryLine,
    act,
    allow,
    answer,
    done,
    given,
    new_request,
    request,
    say,
    status,
    turn,
    verdict,
)

ASKING = (request("agentflow"),)
WITHOUT_APPROVALS = (request("agentflow", approval="never"),)
ORDER = {"order": 1}
CHANGES = "it changes something"


def write(id_: str, *after: str, **fields: Any) -> ActionSpec:
    return act(id_, *after, **({"effect": "write", "arguments": ORDER} | fields))


def ruling_of(*before: StoryLine, spec: ActionSpec) -> ActionSpec:
    """The action with its ruling, from the `turn.planned` event."""
    event = given(*before).when(turn(spec)).then_event()
    assert isinstance(event, facts.TurnPlanned)
    return event.actions[0]


# --- whether a call needs approval


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
def test_the_sessions_policy_applies_to_every_tool(approval: str, effect: str, why: str | None) -> None:
    spec = ruling_of(request("agentflow", approval=approval), spec=act("1.1", effect=effect))
    assert (spec.decision, spec.approval_reason) == ("require_approval" if why else "proceed", why)


@pytest.mark.parametrize(
    ("tool", "user_policy", "expected"),
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
def test_precedence_of_the_policies_of_tool_and_user(tool: Any, user_policy: Any, expected: str) -> None:
    """A tool that its own policy denies stays denied. Otherwise the user's policy takes precedence."""
    session = Session(
        "s1", settings=SessionSettings(approval="writes"), policies={"orders": user_policy} if user_policy else {}
    )
    assert policy_of(session, act("1.1", policy=tool)) == expected


def test_a_call_with_repaired_arguments_is_ruled_as_mutate_or_needs_approval() -> None:
    assert ruling_of(*WITHOUT_APPROVALS, spec=write("1.1", repairs=("id was a text",))).decision == "mutate"
    assert ruling_of(*ASKING, spec=write("1.1", repairs=("id was a text",))).decision == "require_approval"
    assert ruling_of(*WITHOUT_APPROVALS, spec=write("1.1", ask="you said so")).approval_reason == "you said so"


# --- calls that are not made


def test_a_tool_that_the_user_denies_is_not_called() -> None:
    story = (*WITHOUT_APPROVALS, c.Remember(tool="orders", policy="deny"))
    result = given(*story).when(turn(act("1.1"), write("1.2", "1.1"))).then("turn.planned")
    result.leaves("verifying", "verifier")
    assert [status(result.session, action_id) for action_id in ("1.1", "1.2")] == ["denied", "denied"]
    assert result.session.turn is not None
    assert {action.error for action in result.session.turn.actions} == {"this tool must not be used here"}
    result.given.when(c.Approve(version=3, action_id="1.1")).refused(OutOfTurn)
    allowed = given(*story, c.Remember(tool="orders", policy="never")).when(turn(act("1.1"))).then("turn.planned")
    allowed.leaves("executing", "executor")


def test_dependents_of_a_denied_call_do_not_run_and_those_of_a_done_call_do() -> None:
    before = (*WITHOUT_APPROVALS, turn(write("1.1")), c.Start(), done(), verdict("continue"))
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
def test_a_finished_write_is_not_repeated_and_a_failed_one_may_be(after: tuple[StoryLine, ...], rules: str) -> None:
    allowed = (*ASKING, turn(write("1.1")), allow("1.1"))
    assert ruling_of(*allowed, *after, spec=write("2.1")).decision == rules


@pytest.mark.parametrize("no", [c.Reject(action_id="1.1", reason="no"), c.Expire(requested_version=2)])
def test_a_denied_or_expired_write_is_not_made_for_this_request(no: StoryLine) -> None:
    refused = (*ASKING, turn(write("1.1")), no, verdict("continue", "failure"))
    spec = ruling_of(*refused, spec=write("2.1"))
    assert (spec.decision, spec.decision_reason, spec.approval_reason) == (
        "deny",
        "this very call was refused before",
        None,
    )
    assert ruling_of(*refused, spec=write("2.1", arguments={"order": 2})).decision == "require_approval"
    asked_anew = (*refused, turn(nothing=True), answer(), new_request("yes, do cancel it"))
    assert ruling_of(*asked_anew, spec=write("3.1")).decision == "require_approval"


def test_a_read_may_be_repeated() -> None:
    story = (*ASKING, turn(act("1.1", arguments=ORDER)), c.Start(), done(), verdict("continue"))
    assert ruling_of(*story, spec=act("2.1", arguments=ORDER)).decision == "proceed"


def test_the_order_of_arguments_does_not_change_a_call() -> None:
    first, other = {"a": 1, "b": [1, {"c": 2}]}, {"b": [1, {"c": 2}], "a": 1}
    story = (*WITHOUT_APPROVALS, turn(write("1.1", arguments=first)), c.Start(), done(), verdict("continue"))
    assert ruling_of(*story, spec=write("2.1", arguments=other)).decision == "skip"
    assert ruling_of(*story, spec=write("2.1", arguments=other, tool="refunds")).decision == "proceed"


# --- approvals and turns


def test_a_message_while_a_batch_runs_is_answered_before_an_approved_change_begins() -> None:
    later = (act("1.1"), write("1.2", "1.1"))
    asked = given(*ASKING, turn(*later), c.Start(), say("hurry")).when(done()).then("actions.finished")
    asked.leaves("awaiting_approval", "planner", unread=("hurry",))
    allowed = asked.given.when(allow("1.2")).then("approval.given").leaves("executing", "nobody", work=None)
    answered = allowed.given.when(c.AnswerRemark(text="I will.")).then("remark.answered")
    answered.leaves("executing", "executor", unread=()).given.when(c.Start()).then("actions.started")


def test_a_stop_between_approval_and_start_runs_nothing() -> None:
    allowed = given(*ASKING, turn(write("1.1")), allow("1.1"))
    work = allowed.session.work
    stopped = given(c.Stop(), begin=allowed.session)
    assert status(stopped.session, "1.1") == "skipped"
    stopped.when(c.Start(), "executor", work=work).refused(OutOfTurn)
    back = stopped.when(c.Retry()).then("session.retried").leaves("awaiting_approval", "user")
    assert status(back.session, "1.1") == "planned"  # the stop cancels the approval
    back.given.when(allow("1.1")).then("approval.given").leaves("executing", "executor")


def test_retry_after_a_stop_keeps_actions_that_the_user_skipped() -> None:
    story = (*ASKING, turn(write("1.1"), write("1.2", arguments={"order": 2})), c.Skip(action_id="1.1"), c.Stop())
    back = given(*story).when(c.Retry()).then("session.retried").leaves("awaiting_approval", "user")
    assert [status(back.session, action_id) for action_id in ("1.1", "1.2")] == ["skipped", "planned"]


def test_a_call_cannot_be_approved_once_the_user_has_denied_its_tool() -> None:
    waiting = given(*ASKING, turn(write("1.1")), c.Remember(tool="orders", policy="deny"))
    waiting.when(allow("1.1")).refused(OutOfTurn, "denied in this session")
    waiting.when(c.Reject(action_id="1.1")).then("approval.denied").leaves("verifying", "verifier")


@pytest.mark.parametrize("phase", ["planning", "verifying", "answering"])
def test_work_resumes_in_the_same_phase_after_the_budget_is_raised(phase: str) -> None:
    ends = {"planning": 1, "verifying": 4, "answering": 5}
    whole = (*WITHOUT_APPROVALS, turn(write("1.1")), c.Start(), done(), verdict())
    asked = given(*whole[: ends[phase]]).when(c.Ask(text="spent", about="budget")).then("question.asked")
    asked.leaves("awaiting_input", "user", resume_phase=phase)
    result = asked.given.when(c.RaiseBudget(tokens=5)).then("budget.raised")
    assert result.session.phase == phase
    if phase == "verifying":
        assert status(result.session, "1.1") == "finished"
