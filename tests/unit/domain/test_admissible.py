"""Which events readers of the log refuse: a forged event for each check, and events at every version of a session."""

from collections.abc import Callable

import pytest

from parley.events import EVENT_CLASSES, SessionEvent, facts
from parley.events.carried import Carried
from parley.events.values import Artefact, Outcome, PathPlan, SessionSettings, Step
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta, Work
from shared.domain.kernel.session import Session
from shared.domain.rules.admissible import CHECKS, WRONG_CONSEQUENCES, admissible, admit
from shared.domain.rules.consequences import complete
from shared.domain.rules.decide import decide
from shared.domain.rules.service_event_checks import REPLIES
from shared.story import StoryLine, Transition, finish_action
from tests.unit.domain.spec import (
    ANN,
    ASKED,
    NOON,
    RUN_CODE,
    TO_DONE,
    TO_PLAN,
    act,
    allow,
    answer,
    approve,
    checked,
    done,
    draft,
    edit,
    edit_code,
    given,
    program,
    reject,
    request,
    say,
    spend,
    story,
    turn,
    verdict,
)

LOOK = Step(text="Look", tool="shop.look")
CANCEL = Step(text="Cancel", tool="shop.cancel", arguments={"id": 7, "now": True}, effect="write")
PATH = (
    c.Say(text="cancel", workflow="flow", settings=SessionSettings(confirm="path")),
    c.DraftPlan(goal="Cancel 7", steps=(LOOK, CANCEL), kind="path", path=PathPlan(nodes=("shop.look", "shop.cancel"))),
)
ORDER = (
    request("agentflow"),
    spend(),
    turn(act("1.1"), act("1.2", "1.1", effect="write"), act("1.3", effect="write")),
    c.Reject(action_id="1.3"),
    allow("1.2"),
    c.Start(),
    done(),
    c.Start(),
    c.ReportUncertain(action_id="1.2", reason="no answer"),
    done("1.2"),
    verdict("continue"),
    turn(nothing=True),
    answer(),
)
STORIES: dict[str, tuple[StoryLine, ...]] = {
    "conversation": (
        *TO_DONE,
        *RUN_CODE,
        verdict(),
        say("faster"),
        draft("loop"),
        reject,
        say("no"),
        c.Fail(reason="?"),
    ),
    "edits": (*TO_PLAN, edit("one"), approve, program(), checked(), edit_code("x"), checked(), approve, c.Continue()),
    "order": ORDER,
    "path": (*PATH, approve, c.ChangeTurn(actions=(act("0"),)), c.Start(), done("1.3"), verdict(), answer()),
    "questions": (*ASKED, c.Answer(text="yes"), draft(), c.Reject(replan=True), c.Stop(), c.Retry(), draft()),
}


def transitions(name: str) -> list[Transition]:
    result = story()
    result.apply(*STORIES[name])
    return result.transitions


def changed(event: SessionEvent, **fields: object) -> SessionEvent:
    return event.model_copy(update=fields)


def as_next_event(session: Session, event: SessionEvent, **fields: object) -> SessionEvent:
    """The event as if it were the next one of this session."""
    return complete(session, changed(event, session_id=session.id, version=session.version + 1, **fields))


# --- one forged event for each check


def decided(*lines: StoryLine) -> tuple[Session, SessionEvent]:
    """The session before the last event of these commands, and that event."""
    result = story()
    result.apply(*lines)
    return result.transitions[-1].before, result.transitions[-1].event


def steps(event: SessionEvent, at: int, **fields: object) -> tuple[object, ...]:
    """The actions of an approved plan, the one at this index changed."""
    assert isinstance(event, facts.PlanApproved)
    return tuple(spec.model_copy(update=fields if n == at else {}) for n, spec in enumerate(event.actions))


def by_a_service(event: SessionEvent) -> SessionEvent:
    return changed(event, actor="verifier")


RUN_AGAIN = c.Answer(text="It did not happen: run it again")
PATH_APPROVED, CODE_APPROVED, ACTION_APPROVED = (*PATH, approve), (*TO_DONE[:-1], approve), (*ORDER[:3], allow("1.3"))
OTHER_OUTCOME = (Outcome(action_id="1.2", ok=True),)
PATH_CHANGED = (*PATH_APPROVED, c.EditPath(actions=(act("9"),)))
ARTEFACT = Artefact(name="s1/1/1.1/1", size=60_000, sha256="0")
LARGE_RESULT = (
    *ORDER[:6],
    finish_action(action_id="1.1", ok=True, result="…", size=60_000),
    c.StoreResult(action_id="1.1", artefact=ARTEFACT),
)
FORK = facts.SessionForked(
    id="s1:f", session_id="s1", version=1, at=NOON, actor=ANN, parent_id="s0", parent_version=1, carried=Carried()
)
FORGERIES: list[tuple[str, tuple[StoryLine, ...], Callable[[SessionEvent], SessionEvent], str]] = [
    ("request from a service", (say(),), lambda e: changed(e, actor="root"), "only a person"),
    ("request from a user without a name", (say(),), lambda e: changed(e, actor="user:"), "only a person"),
    (
        "keeper's request without owner",
        (say(),),
        lambda e: changed(e, actor="keeper"),
        "begins a session for its owner",
    ),
    ("request with another owner", (say(),), lambda e: changed(e, owner="bob"), "only the keeper names an owner"),
    ("user claims a schedule", (say(),), lambda e: changed(e, via="template/x/y"), "only the keeper names an owner"),
    ("session that begins with a plan", TO_PLAN, lambda e: changed(e, version=1), "plan.drafted cannot be version 1"),
    ("plan version not in review", PATH_APPROVED, lambda e: changed(e, plan_version=99), "version 99 is not in review"),
    ("wrong plan hash", PATH_APPROVED, lambda e: changed(e, hash="deadbeef"), "hash is not that of plan 2"),
    ("plan approved by a service", PATH_APPROVED, lambda e: changed(e, actor="planner"), "only a person"),
    ("approved path without a turn", PATH_APPROVED, lambda e: changed(e, turn=None, actions=()), "turn is None"),
    ("approved path with the wrong turn number", PATH_APPROVED, lambda e: changed(e, turn=2), "it must be 1"),
    ("approved text plan with a turn", (*TO_PLAN, approve), lambda e: changed(e, turn=1), "it must be None"),
    ("other tool", PATH_APPROVED, lambda e: changed(e, actions=steps(e, 1, tool="shop.burn")), "not the steps"),
    (
        "other arguments",
        PATH_APPROVED,
        lambda e: changed(e, actions=steps(e, 1, arguments={"id": 7, "now": 1})),
        "not the steps",
    ),
    ("other effect", PATH_APPROVED, lambda e: changed(e, actions=steps(e, 1, effect="read")), "not the steps"),
    ("other step id", PATH_APPROVED, lambda e: changed(e, actions=steps(e, 1, id="1.1")), "not the steps"),
    ("extra step", PATH_APPROVED, lambda e: changed(e, actions=(*steps(e, 9), act("1.3"))), "not the steps"),
    ("missing step", PATH_APPROVED, lambda e: changed(e, actions=steps(e, 9)[:1]), "not the steps"),
    ("reject old plan", (*TO_PLAN, reject), lambda e: changed(e, plan_version=1), "version 1 is not in review"),
    ("plan rejected by a service", (*TO_PLAN, reject), lambda e: changed(e, actor="verifier"), "only a person"),
    ("replan of old plan", (*TO_PLAN, c.Reject(replan=True)), lambda e: changed(e, plan_version=1), "not the newest"),
    ("code version not in review", CODE_APPROVED, lambda e: changed(e, code_version=2), "version 2 is not in review"),
    ("wrong code hash", CODE_APPROVED, lambda e: changed(e, hash=""), "hash is not that of code"),
    ("code approved by a service", CODE_APPROVED, lambda e: changed(e, actor="generator"), "only a person"),
    ("reject old code", (*TO_DONE[:-1], reject), lambda e: changed(e, code_version=1), "not in review"),
    (
        "replan of old code",
        (*TO_DONE, c.Reject(replan=True, target="code")),
        lambda e: changed(e, code_version=2),
        "not the newest",
    ),
    ("code rejected by a service", (*TO_DONE[:-1], reject), lambda e: changed(e, actor="generator"), "only a person"),
    ("wrong action hash", ACTION_APPROVED, lambda e: changed(e, hash="deadbeef"), "hash is not that of action 1.3"),
    ("action approved by a service", ACTION_APPROVED, lambda e: changed(e, actor="planner"), "only a person"),
    ("action needs no approval", ACTION_APPROVED, lambda e: changed(e, action_id="1.1"), "1.1 does not wait"),
    ("rejection of an unknown action", ORDER[:4], lambda e: changed(e, action_id="9.9"), "9.9 does not wait"),
    ("action rejected by a service", ORDER[:4], lambda e: changed(e, actor="executor"), "only a person"),
    (
        "failure of other work",
        (say(), c.Fail(reason="x")),
        lambda e: changed(e, id="s1:2:session.failed"),
        "work at hand, s1:1",
    ),
    (
        "work of another session",
        (say(), c.Fail(reason="x")),
        lambda e: changed(e, id="s2:1:session.failed"),
        "work at hand",
    ),
    ("longer version", (say(), c.Fail(reason="x")), lambda e: changed(e, id="s1:11:session.failed"), "work at hand"),
    ("plan drafted by the keeper", TO_PLAN, lambda e: changed(e, actor="keeper"), "planner is due"),
    ("question asked by a user", ASKED, lambda e: changed(e, actor=ANN), "planner is due"),
    (
        "outcome of an action that is not running",
        ORDER[:7],
        lambda e: changed(e, outcomes=OTHER_OUTCOME),
        "1.2 is not running",
    ),
    ("service answers", (*ASKED, c.Answer(text="yes")), lambda e: changed(e, actor="generator"), "only a person"),
    ("service runs again", (*ORDER[:9], RUN_AGAIN), lambda e: changed(e, actor="executor"), "only a person"),
    ("other question", (*ORDER[:9], RUN_AGAIN), lambda e: changed(e, question_id="1.3"), "no question of 1.3 is open"),
    ("service sets a policy", (*ORDER[:3], c.Remember(tool="x", policy="never")), by_a_service, "only a person"),
    ("budget raised by a service", (*ORDER[:3], c.RaiseBudget(tokens=1)), by_a_service, "only a person"),
    ("session shared by a service", (*ORDER[:3], c.Share(user="bob", role="editor")), by_a_service, "only a person"),
    ("stopped session retried by a service", (say(), c.Stop(), c.Retry()), by_a_service, "only a person"),
    ("paused session resumed by a service", (say(), c.Pause(), c.Resume()), by_a_service, "only a person"),
    ("code run requested by a service", (*TO_DONE, RUN_CODE[0]), by_a_service, "only a person"),
    ("path edited by a user without a name", PATH_CHANGED, lambda e: changed(e, actor="user:"), "work at hand"),
    ("stored result of another attempt", LARGE_RESULT, lambda e: changed(e, attempt=9), "is being stored"),
    ("fork at version 2", (say(),), lambda e: FORK.model_copy(update={"version": 2}), "cannot be version 2"),
    ("uncertain action that is not running", ORDER[:9], lambda e: changed(e, action_id="1.1"), "1.1 is not running"),
]


@pytest.mark.parametrize(("lines", "forge", "why"), [row[1:] for row in FORGERIES], ids=[row[0] for row in FORGERIES])
def test_readers_refuse_inadmissible_events(
    lines: tuple[StoryLine, ...], forge: Callable[[SessionEvent], SessionEvent], why: str
) -> None:
    before, event = decided(*lines)
    assert admissible(before, event) == ""
    assert why in admissible(before, forge(event))


def test_a_replan_of_code_from_an_older_plan_is_refused() -> None:
    older, event = decided(*TO_DONE, c.Reject(replan=True, target="code"))
    newer = given(*TO_DONE, say("floats"), draft("floats")).session
    assert admissible(older, event) == ""
    assert "of an older plan" in admissible(newer, as_next_event(newer, event))


# --- at every version of the sessions in STORIES


@pytest.mark.parametrize("name", STORIES)
def test_events_that_decide_returns_are_admissible(name: str) -> None:
    for before, _, event, after in transitions(name):
        assert admit(before, event) == (after, ""), event.type


@pytest.mark.parametrize("name", STORIES)
def test_an_event_for_other_work_or_from_another_service_is_always_refused(name: str) -> None:
    result = transitions(name)
    reports = [event for _, _, event, _ in result if _is_report(event)]
    assert reports
    for _, _, _, session in result:
        for event in reports:
            work = next(iter(session.works), Work(service="planner", version=session.version))
            event_id = f"{session.id}:{work.version}:{event.type}"
            assert admissible(session, as_next_event(session, event, id="s1:999:x", actor=work.service))
            others = {"planner", "generator", "executor", "verifier", "gateway"} - {work.service}
            for actor in (*others, *(() if event.type == "turn.changed" else (ANN,))):
                assert admissible(session, as_next_event(session, event, id=event_id, actor=actor)), (actor, event.type)
            reason = admissible(session, as_next_event(session, event, id=event_id, actor=work.service))
            fits = session.work is not None or isinstance(event, REPLIES)
            assert (reason == "") == (bool(session.works) and fits)


@pytest.mark.parametrize("name", STORIES)
def test_only_a_user_decides_and_each_decision_counts_once(name: str) -> None:
    result = transitions(name)
    for at, decided_at in enumerate(result):
        event = decided_at.event
        if not isinstance(event, DECISIONS) or getattr(event, "replan", False):
            continue
        for before, *_ in result[1:]:
            assert admissible(before, as_next_event(before, event, actor="executor"))
        for before, *_ in result[at + 1 :]:
            assert admissible(before, as_next_event(before, event)), event.type


@pytest.mark.parametrize("name", STORIES)
def test_only_running_actions_end_and_usage_is_always_admissible(name: str) -> None:
    for _, _, _, session in transitions(name):
        running = {
            a.spec.id for a in (session.turn.actions if session.turn else ()) if a.status in ("started", "uncertain")
        }
        for action_id in ("1.1", "1.2", "1.3"):
            at = {"id": "anything", "session_id": session.id, "version": session.version + 1, "at": NOON, "actor": "x"}
            ended = facts.ActionsFinished(**at, outcomes=(Outcome(action_id=action_id, ok=True),))
            uncertain = facts.ActionUncertain(**at, action_id=action_id, reason="?")
            completed = (complete(session, item) for item in (ended, uncertain))
            assert [admissible(session, item) == "" for item in completed] == [action_id in running] * 2
        cost = next(t.event for t in transitions("order") if t.event.type == "usage.recorded")
        assert admissible(session, as_next_event(session, cost, actor="nobody")) == ""


def test_an_event_lists_exactly_the_actions_that_it_begins_and_ends() -> None:
    quiet = turn(act("1.1", quiet=True), act("1.2", "1.1", effect="write"))
    before, planned = decided(request("agentflow", approval="never"), quiet)
    assert (planned.begins, admit(before, planned)[1]) == (("1.1",), "")
    assert admit(before, changed(planned, begins=())) == (before, WRONG_CONSEQUENCES)
    assert admit(before, changed(planned, begins=("1.1", "1.2"))) == (before, WRONG_CONSEQUENCES)
    before, stopped = decided(request("agentflow", approval="never"), quiet, c.Stop())
    assert ([entry.id for entry in stopped.ended], admit(before, stopped)[1]) == (["1.1", "1.2"], "")
    assert admit(before, changed(stopped, ended=stopped.ended[:1])) == (before, WRONG_CONSEQUENCES)


def test_only_a_user_forks_a_session() -> None:
    result = story()
    result.apply(*TO_PLAN)
    fork = result.fork("s2").transitions[-1].event
    assert admissible(Session("s2"), fork) == ""
    assert "only a person" in admissible(Session("s2"), by_a_service(fork))


# --- events that stay admissible


def test_a_path_is_approved_by_a_service_only_where_the_settings_ask_for_no_approval() -> None:
    for confirm, refused in (("path", True), ("nodes", False), ("nothing", False)):
        started = c.Say(text="x", workflow="flow", settings=SessionSettings.model_validate({"confirm": confirm}))
        before, event = decided(started, PATH[1], approve)
        assert bool(admissible(before, changed(event, actor="planner"))) == refused


def test_decide_never_returns_an_inadmissible_event() -> None:
    session = given(say()).session
    assert session.work
    with pytest.raises(AssertionError, match="planner is due"):
        decide(session, draft(), CommandMeta("executor", NOON, work=session.work))


def test_every_check_belongs_to_an_event_type() -> None:
    assert CHECKS.keys() <= {event_class.model_fields["type"].default for event_class in EVENT_CLASSES}


DECISIONS = (
    *(facts.PlanApproved, facts.PlanRejected, facts.CodeApproved, facts.CodeRejected),
    *(facts.ApprovalGiven, facts.ApprovalDenied),
)


def _is_report(event: SessionEvent) -> bool:
    from_a_user = event.actor.startswith("user:")
    return not from_a_user and event.type not in ("usage.recorded", "actions.finished", "action.uncertain")
