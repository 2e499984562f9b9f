"""evolve: one fact folded into the session. Total over every event type; it never refuses.

`said.py`, `drafts.py`, `turns.py` and `waves.py` hold what the facts of each kind bring about.
"""

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any, assert_never

from parley.events import SessionEvent, facts
from shared.domain import drafts, forks, outcomes, polling, said, turns, waiting, workflows
from shared.domain.budgets import with_budgets
from shared.domain.changing import replace
from shared.domain.session import (
    COMMANDS_KEPT,
    SERVICE_OF,
    Session,
    begin,
    put_back,
    set_aside,
    settle,
    with_answer,
    with_words,
)
from shared.domain.state import Failure
from shared.domain.usage import counted, worked
from shared.domain.waves import begin_quiet, end, follow, mark

DECIDES = (
    facts.PlanApproved
    | facts.PlanRejected
    | facts.PlanEdited
    | facts.PlanCancelled
    | facts.PlanDeleted
    | facts.CodeApproved
    | facts.CodeRejected
    | facts.CodeEdited
    | facts.CodeVerified
    | facts.TurnRequested
    | facts.TurnChanged
    | facts.ApprovalGiven
    | facts.ApprovalDenied
    | facts.ApprovalExpired
    | facts.ActionSkipped
    | facts.TurnVerified
    | facts.AnswerGiven
    | facts.SessionCompleted
)


def evolve(session: Session, event: SessionEvent) -> Session:
    """The session after this event."""
    # An action that the event itself plans is changed by it before it is ended by it.
    planned = {spec.id for spec in event.actions} if isinstance(event, facts.TurnChanged) else set()
    accounted = counted(end(session, (one for one in event.ended if one.id not in planned)), event.usage)
    after = _moved(_without_remark(accounted, event), event)
    after = end(after, (one for one in event.ended if one.id in planned or one.reason == "dependency_failed"))
    after = begin_quiet(after, event)
    recent = (
        (*after.recent_commands, event.id)[-COMMANDS_KEPT:]
        if event.actor.startswith("user:")
        else after.recent_commands
    )
    since = session.since_version if _scene(after) == _scene(session) else event.version
    needs, rules = max(session.needs, event.needs), max(session.rules, event.rules or 1)
    after = replace(after, version=event.version, needs=needs, rules=rules, recent_commands=recent, since_version=since)
    return worked(session, after, event)


def fold(session: Session, events: Iterable[SessionEvent]) -> Session:
    return reduce(evolve, events, session)


def _scene(session: Session) -> tuple[object, ...]:
    """What a person has before them: when it changes, the clock of an approval begins anew. A remark is no change."""
    session = put_back(session)
    turn = (session.turn.number, *(a.spec for a in session.turn.actions)) if session.turn else ()
    return session.id, session.phase, session.work, session.plan, session.code, session.question, turn


def _without_remark(session: Session, event: SessionEvent) -> Session:
    """What an event that ends a remark finds: drafts have taken it in, decisions set it aside."""
    if session.words.remark is None:
        return session
    match event:
        case facts.PlanDrafted() | facts.CodeDrafted() | facts.TurnPlanned():
            return said.taken_in(session, event.version, begins_round=event.begins_round)
        case _:
            return set_aside(session) if isinstance(event, DECIDES) else session


def _moved(session: Session, event: SessionEvent) -> Session:  # noqa: C901, PLR0911, PLR0912  one line a fact
    match event:
        case facts.MessageReceived():
            return said.heard(session, event)
        case facts.RemarkAnswered():
            return waiting.gone_on(with_words(put_back(session), reply=event.text), event.version)
        case (
            facts.PlanDrafted()
            | facts.PlanEdited()
            | facts.PlanApproved()
            | facts.PlanRejected()
            | facts.PlanCancelled()
            | facts.PlanDeleted()
            | facts.CodeDrafted()
            | facts.CodeEdited()
            | facts.CodeVerified()
            | facts.CodeApproved()
            | facts.CodeRejected()
            | facts.TurnPlanned()
            | facts.TurnRequested()
            | facts.TurnVerified()
            | facts.AnswerGiven()
        ):
            return _as_the_workflow_says(session, event)
        case facts.QuestionAsked():
            return said.asked(session, event)
        case facts.QuestionAnswered():
            return said.answered(session, event)
        case facts.TurnChanged():
            return turns.turn_changed(session, event)
        case facts.ApprovalGiven():
            return turns.decided(mark(session, [event.action_id], "approved", allowed=True), event.version)
        case facts.ApprovalDenied():
            return turns.decided(mark(session, [event.action_id], "denied", error=event.reason), event.version)
        case facts.ApprovalExpired():
            return turns.expired(session, event)
        case facts.ActionsStarted():
            began = session.work.version if session.work else event.version
            return mark(session, [one.action_id for one in event.actions], "started", began=began)
        case facts.ActionsWaiting():
            return waiting.began_to_wait(session, event)
        case facts.ActionsWoken():
            return waiting.woken(session, event)
        case facts.ActionPolled():
            return polling.polled(session, event)
        case facts.ActionsFinished() | facts.ActionUncertain() | facts.ResultStored() | facts.ResultLost():
            return turns.outcome(outcomes.applied(session, event), outcomes.changes(event).keys(), event.version)
        case facts.ActionSkipped():
            return turns.skipped(session, event)
        case facts.AnswerJudged():
            return with_answer(session, accepted=event.accepted, saved=event.saved)
        case facts.UsageRecorded():
            return session  # its envelope says it all
        case facts.BudgetRaised():
            return _budget_raised(session, event)
        case facts.PolicySet():
            return replace(session, policies={**session.policies, event.tool: event.policy})
        case facts.SessionStopped():
            return _stopped(session, event.version)
        case facts.SessionPaused():
            return replace(session, paused=True)
        case facts.SessionResumed():
            resumed = replace(session, paused=False)
            waits = session.phase in SERVICE_OF and session.work is None
            return begin(resumed, session.phase, event.version) if waits else resumed
        case facts.SessionFailed():
            failure = Failure(event.phase, event.reason, event.retryable, event.model_reply)
            return replace(settle(session, "failed"), resume_phase=session.phase, failure=failure)
        case facts.SessionRetried():
            return turns.retried(session, event)
        case facts.SessionCompleted():
            return settle(session, "resting", "completed")
        case facts.SessionForked():
            return forks.forked(event)
        case facts.SessionRenamed():
            return replace(session, title=event.title)
        case facts.SessionShared():
            others = {user: role for user, role in session.shared_with.items() if user != event.user}
            return replace(session, shared_with=others | ({event.user: event.role} if event.role else {}))
        case facts.WorkflowChanged():
            halted = (
                session.resume_phase if event.workflow == session.workflow else None
            )  # another one has other phases
            return replace(session, workflow=event.workflow, resume_phase=halted)
    assert_never(event)


PARTS: dict[str, Callable[[Session, Any], Session]] = {
    "plan.drafted": drafts.plan_made,
    "plan.edited": drafts.plan_made,
    "plan.approved": drafts.plan_approved,
    "plan.rejected": drafts.plan_rejected,
    "plan.cancelled": drafts.plan_cancelled,
    "plan.deleted": drafts.plan_deleted,
    "code.drafted": drafts.code_made,
    "code.edited": drafts.code_made,
    "code.verified": drafts.code_verified,
    "code.approved": drafts.code_approved,
    "code.rejected": drafts.code_rejected,
    "turn.planned": lambda session, event: (
        turns.turn_planned(session, event) if event.plan_version is None else drafts.plan_approved(session, event)
    ),
    "turn.requested": turns.turn_requested,
    "turn.verified": turns.turn_verified,
    "answer.given": turns.answer_given,
}


def _as_the_workflow_says(session: Session, event: SessionEvent) -> Session:
    """Plan, code, turn or answer as the event leaves it, in the phase that the workflow's edge leads to."""
    if isinstance(event, facts.TurnVerified) and session.turn is None:
        return session
    return follow(PARTS[event.type](session, event), workflows.edge(session, event), event.version)


def _budget_raised(session: Session, event: facts.BudgetRaised) -> Session:
    session = with_budgets(session, event)
    waits = session.question is not None and session.question.about == "budget"
    return turns.go_on(session, session.resume_phase or "planning", event.version) if waits else session


def _stopped(session: Session, version: int) -> Session:
    """At rest at once. Retry goes on where it was; what waited for an answer goes on with the phase that asked.

    A remark is taken back: what was there before it is there again. But where steps of a plan would run next, the plan
    is stopped, and what was said is answered when it goes on.
    """
    if said.takes_back_remark(session):
        return waiting.gone_on(put_back(session), version)
    session = set_aside(session)
    asked_by_a_phase = session.question is not None and session.question.about in ("request", "budget", "continue")
    halted = session.resume_phase if asked_by_a_phase else session.phase
    return replace(settle(session, "resting", "stopped"), resume_phase=halted)
