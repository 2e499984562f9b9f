"""Operations on whole sessions: fork, share, rename, cancel or delete the plan; events from other sources."""

import json
from dataclasses import replace
from typing import Any, cast

import pytest
from pydantic import ValidationError

from parley.events import EVENT_CLASSES, Event, SessionEvent, dump_event, facts, parse_event
from parley.events.carried import Carried
from shared.domain.kernel import commands as c
from shared.domain.kernel.errors import OutOfTurn, Stale
from shared.domain.kernel.evolve import evolve, fold
from shared.domain.kernel.session import MAX_RECENT_COMMANDS, Session, review_target
from shared.domain.plan.text import draft_text
from shared.domain.rules.decide import decide
from shared.domain.rules.user_commands import decide_user_command
from shared.domain.transcript.dialogue import Offer, OpenQuestion
from shared.domain.transcript.forks import carry_over
from shared.domain.transcript.offers import offered_draft, take_offer
from shared.domain.turn.outcomes import action_changes
from tests.unit.domain.spec import (
    ANN,
    NOON,
    TO_CODE,
    TO_DONE,
    TO_PLAN,
    VERIFYING,
    StoryLine,
    approve,
    check_invariants,
    command_meta,
    draft,
    edit,
    feedback,
    given,
    new_request,
    program,
    request,
    say,
    spend,
    story,
    turn,
    unread,
)


def fact(kind: type[Event], version: int = 1, **fields: Any) -> SessionEvent:
    """An event as the log may hold it, even if `decide` would not return it."""
    envelope = {"id": f"s1:{version}", "session_id": "s1", "version": version, "at": NOON, "actor": ANN}
    return parse_event(kind.model_validate(envelope | fields).model_dump_json())


# --- forks


def fork_of(parent: Session) -> Session:
    return story(parent).fork("s2", user="bob").session


def test_a_fork_copies_plan_and_code_but_not_approvals() -> None:
    parent = given(*TO_DONE, spend()).session
    child = fork_of(parent)
    started: dict[str, Any] = {"parent_id": "s1", "parent_version": parent.version, "carried": carry_over(parent)}
    check_invariants(child, fact(facts.SessionForked, session_id="s2", **started))
    assert (child.id, child.version, child.owner, child.parent_id) == ("s2", 1, "bob", "s1")
    assert (child.phase, child.spent.calls, child.words.request) == ("awaiting_approval", 0, parent.words.request)
    assert child.plan is not None
    assert child.code is not None
    assert (child.plan.version, child.plan.status, child.code.version, child.code.status) == (
        1, "pending_approval", 1, "review")  # fmt: skip
    given(begin=child).when(c.Run()).refused(OutOfTurn, "Only approved code")
    yes = c.Approve(version=1, hash=child.code.hash)
    given(begin=child).when(yes).then("code.approved", code_version=1).leaves("resting", "nobody")
    given(begin=child).when(c.Approve(version=1)).refused(Stale, "name the hash")
    given(begin=child).when(c.Approve(version=1, hash=child.plan.hash)).refused(Stale, "differs")


@pytest.mark.parametrize(
    ("before", "phase", "target"),
    [
        (TO_PLAN, "awaiting_approval", "text"),
        (TO_CODE, "awaiting_approval", "code"),
        ((*TO_DONE, new_request("more"), draft("b")), "awaiting_approval", "text"),
        ((*TO_CODE, edit("other")), "awaiting_approval", "text"),
        ((say(), c.Stop()), "resting", None),
    ],
)
def test_a_fork_keeps_the_newest_plan_and_code(before: tuple[StoryLine, ...], phase: str, target: str | None) -> None:
    child = fork_of(given(*before).session)
    assert (child.phase, review_target(child)) == (phase, target)


def test_a_fork_keeps_unread_messages() -> None:
    child = fork_of(given(*TO_PLAN, feedback("floats"), say("tests"), c.Stop()).session)
    assert unread(child) == ("tests",)
    given(begin=child).when(feedback("go on")).then("message.received", intent="feedback").leaves(
        "planning", "planner", unread=("tests", "go on")
    )


def test_only_a_new_session_can_begin_as_a_fork() -> None:
    given(say()).when(c.Fork(parent_id="s0", parent_version=1, carried=Carried())).refused(
        OutOfTurn, "begins a new session"
    )


# --- cancelled and deleted plans


@pytest.mark.parametrize("before", [TO_PLAN, (*TO_PLAN, approve), (*TO_PLAN, approve, program())])
def test_a_plan_can_be_cancelled_before_or_during_its_work(before: tuple[StoryLine, ...]) -> None:
    result = given(*before).when(c.CancelPlan()).then("plan.cancelled", plan_version=2)
    result.leaves("resting", "nobody", rest_reason="stopped")
    result.given.when(c.CancelPlan()).refused(OutOfTurn, "cancelled already")


def test_a_plan_can_be_deleted_at_rest_and_the_rest_reason_stays() -> None:
    result = given(*TO_DONE, c.Complete()).when(c.DeletePlan()).then("plan.deleted", plan_version=2)
    result.leaves("resting", "nobody", plan=None, code=None, rest_reason="completed")
    result.given.when(c.DeletePlan()).refused(OutOfTurn, "no plan")
    given(*TO_PLAN, feedback("x")).when(c.DeletePlan()).refused(OutOfTurn, "stop or cancel it first")
    given(*TO_DONE).when(c.CancelPlan()).refused(OutOfTurn, "completed already")


# --- names, policies, sharing, workflows


@pytest.mark.parametrize("before", [(say(),), TO_PLAN, TO_DONE, (say(), c.Fail(reason="x"))])
@pytest.mark.parametrize(
    ("command", "kind", "state"),
    [
        (c.Rename(title="Sums"), "session.renamed", {"title": "Sums"}),
        (c.Share(user="bob", role="approver"), "session.shared", {"shared_with": {"bob": "approver"}}),
        (c.Remember(tool="orders", policy="never"), "policy.set", {"policies": {"orders": "never"}}),
        (c.RaiseBudget(tokens=5), "budget.raised", {}),
    ],
)
def test_renaming_and_sharing_do_not_change_who_is_due(
    before: tuple[StoryLine, ...], command: c.Rename, kind: str, state: dict[str, Any]
) -> None:
    session = given(*before).session
    result = given(*before).when(command).then(kind)
    who_is_due = "user" if session.is_awaiting_user else "nobody"
    result.leaves(session.phase, who_is_due, work=session.work, since_version=session.since_version, **state)


def test_the_workflow_can_be_changed_only_at_rest() -> None:
    result = given(*TO_DONE).when(c.ChooseWorkflow(workflow="agentflow")).then("session.workflow_changed")
    result.leaves("resting", "nobody", workflow="agentflow")
    given(say()).when(c.ChooseWorkflow(workflow="flow")).refused(OutOfTurn, "while the session rests")


def test_after_a_change_of_workflow_the_stopped_phase_cannot_be_retried() -> None:
    """Otherwise a verdict on a turn would count as one on code, and the session would rest without an answer."""
    stopped = given(*VERIFYING, c.Stop())
    stopped.when(c.Retry()).then("session.retried").leaves("verifying", "verifier")
    same = stopped.when(c.ChooseWorkflow(workflow="agentflow")).then("session.workflow_changed").given
    same.when(c.Retry()).then("session.retried").leaves("verifying", "verifier")
    other = stopped.when(c.ChooseWorkflow(workflow="conversation")).then("session.workflow_changed").given
    other.when(c.Retry()).refused(OutOfTurn, "nothing to retry")
    given(*TO_DONE).when(request("agentflow")).then("message.received").leaves(
        "planning", "planner", workflow="agentflow"
    )


def test_the_number_of_remembered_command_ids_is_limited() -> None:
    story = [c.Rename(title=f"{number}") for number in range(MAX_RECENT_COMMANDS + 5)]
    session = given(say(), *story, draft()).session
    assert len(session.recent_commands) == MAX_RECENT_COMMANDS


# --- events from other sources


def test_evolve_accepts_every_event_in_any_state() -> None:
    """`decide` may refuse a command; `evolve` never refuses an event."""
    unexpected_events = [
        fact(facts.PlanApproved, plan_version=1, hash=""),
        fact(facts.PlanEdited, base_version=1, goal="g", steps=[{"text": "a"}]),
        fact(facts.PlanRejected, plan_version=1),
        fact(facts.CodeDrafted, plan_version=1, code="x"),
        fact(facts.CodeVerified, code_version=1, checks=[]),
        fact(facts.CodeRejected, code_version=1, replan=True),
        fact(facts.TurnVerified, turn=1, status="failure", next_action="retry"),
        fact(facts.ActionsStarted, actions=[{"action_id": "a"}]),
        fact(facts.ActionsFinished, outcomes=[{"action_id": "a", "ok": True}]),
        fact(facts.SessionRetried),
        fact(facts.ApprovalGiven, action_id="a", hash=""),
        fact(facts.MessageReceived, text=" \n "),
    ]
    for before in (
        Session("s1"),
        given(say()).session,
        given(*TO_DONE).session,
        given(request("agentflow"), turn()).session,
    ):
        for unexpected_event in unexpected_events:
            version = before.version + 1
            after = evolve(before, unexpected_event.model_copy(update={"version": version}))
            assert (after.id, after.version) == ("s1", version)


def test_a_session_is_the_fold_of_its_events() -> None:
    done = story()
    done.apply(*TO_DONE)
    assert fold(Session("s1"), done.events) == done.session
    assert [event.version for event in done.events] == list(range(1, len(TO_DONE) + 1))


# --- the events themselves


@pytest.mark.parametrize("kind", EVENT_CLASSES, ids=lambda kind: kind.__name__)
def test_every_event_type_has_a_name_in_the_past_tense(kind: type[Event]) -> None:
    name = kind.model_fields["type"].default
    entity, _, verb = name.partition(".")
    assert entity in {
        "message", "plan", "code", "question", "turn", "approval", "actions", "action", "answer", "usage", "budget",
        "policy", "session", "remark", "result", "offer",
    }  # fmt: skip
    assert verb
    assert kind.__doc__


def test_event_type_names_are_distinct() -> None:
    assert len({kind.model_fields["type"].default for kind in EVENT_CLASSES}) == len(EVENT_CLASSES)


def test_an_event_is_stored_as_json_and_read_back() -> None:
    event = given().when(say(), id="c1").then("message.received").event
    body = dump_event(event)
    assert not {"needs", "usage", "ended"} & json.loads(body).keys(), "fields with default values are not stored"
    assert parse_event(body) == event
    assert parse_event(body.decode()) == event


STOPPED = {"type": "session.stopped", "id": "x", "session_id": "s", "version": 1, "at": "2030-01-01T00:00:00Z"}


@pytest.mark.parametrize(
    "wrong",
    [
        {"type": "session.exploded"},
        {"session_id": "a b"},
        {"session_id": "a.b"},
        {"session_id": ""},
        {"version": 0},
        {"at": "2030-01-01T00:00:00"},
        {"needs": 0},
        {"actor": ""},
        {"id": ""},
    ],
)
def test_other_json_is_not_parsed_as_an_event(wrong: dict[str, Any]) -> None:
    right = STOPPED | {"actor": "user:ann"}
    assert parse_event(json.dumps(right)).type == "session.stopped"
    with pytest.raises(ValidationError):
        parse_event(json.dumps(right | wrong))


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff"])
def test_garbage_is_not_parsed_as_an_event(body: bytes) -> None:
    with pytest.raises(ValidationError):
        parse_event(body)


def test_an_unknown_action_is_refused() -> None:
    given(request("agentflow"), turn()).when(c.Skip(action_id="9.9")).refused(OutOfTurn)


def test_an_unknown_command_or_event_raises() -> None:
    """So a command or event that the code does not handle is not ignored silently."""
    session = given(say(), c.Ask(text="?")).session
    unhandled_command: Any = c.Command()
    with pytest.raises(AssertionError):
        decide(session, unhandled_command, command_meta(session, unhandled_command))
    with pytest.raises(AssertionError):
        decide_user_command(session, unhandled_command, command_meta(session, unhandled_command))
    invalid_session = replace(session, question=OpenQuestion("a", cast(Any, "weather"), "?"))
    with pytest.raises(AssertionError):
        evolve(invalid_session, fact(facts.QuestionAnswered, 3, question_id="a", text="x"))
    unhandled_event: Any = Event(id="x", session_id="s1", version=3, at=NOON, actor=ANN)
    with pytest.raises(AssertionError):
        evolve(session, unhandled_event)
    unhandled: Any = "neither a draft nor an offer"
    assert action_changes(unhandled) is None
    for read in (offered_draft, draft_text):
        with pytest.raises(AssertionError):
            read(unhandled)
    offering = replace(session, offer=Offer(3, unhandled))
    with pytest.raises(AssertionError):
        take_offer(offering, None, command_meta(session, c.TakeOffer()))
