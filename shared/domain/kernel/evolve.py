"""evolve: folds one event into the session. Handles every event type and never refuses one.

`messages.py`, `plans_and_code.py`, `turns.py` and `batches.py` apply the events of each kind.
"""

from collections.abc import Callable, Iterable
from functools import reduce
from typing import Any, assert_never

from parley.events import SessionEvent, facts
from shared.domain import workflows
from shared.domain.kernel.actors import USER_PREFIX
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.session import (
    MAX_RECENT_COMMANDS,
    SERVICE_OF,
    Session,
    enter_idle_phase,
    enter_phase,
    with_answer,
    with_counts,
)
from shared.domain.kernel.state import Failure
from shared.domain.kernel.subjects import with_subjects
from shared.domain.plan import plans_and_code
from shared.domain.plan.decisions import with_decision
from shared.domain.rules.budgets import budget_raised
from shared.domain.rules.usage import add_calls, add_work
from shared.domain.steps import polling, waiting_steps
from shared.domain.transcript import forks, messages, questions
from shared.domain.transcript.entries import with_transcript
from shared.domain.transcript.messages import asks_for_budget, with_heard, withdraws_message
from shared.domain.turn import outcomes, turns
from shared.domain.turn.batches import begin_quiet_reads, end_actions, follow_edge, hold, mark_actions

WORDS = (  # of the person: the turns that may be taken without another word are counted anew
    *(facts.MessageReceived, facts.QuestionAnswered, facts.ApprovalDenied, facts.OfferKept),
    *(facts.TurnRequested, facts.SessionRetried, facts.BudgetRaised),
)


def evolve(session: Session, event: SessionEvent) -> Session:
    """The session after this event."""
    # The event may end an action that it plans itself: apply the change first, then the end.
    planned = {spec.id for spec in event.actions} if isinstance(event, facts.TurnChanged) else set()
    accounted = add_calls(
        end_actions(session, (ended for ended in event.ended if ended.id not in planned)), event.usage
    )
    after = _apply(_taking_in(accounted, event), event)
    if session.phase in SERVICE_OF and after.phase in ("awaiting_approval", "waiting"):
        after = messages.answer_unread(after, event.version)  # beside what waits now
    after = end_actions(
        after, (ended for ended in event.ended if ended.id in planned or ended.reason == "dependency_failed")
    )
    after = begin_quiet_reads(after, event)
    recent = (
        (*after.recent_commands, event.id)[-MAX_RECENT_COMMANDS:]
        if event.actor.startswith(USER_PREFIX)
        else after.recent_commands
    )
    if isinstance(event, WORDS):
        after = with_counts(after, turns_before_words=after.counts.turns)
    since = session.since_version if _review_state(after) == _review_state(session) else event.version
    changed_at = session.plan_changed_at if _plan_state(after) == _plan_state(session) else event.at
    after = replace(
        after,
        version=event.version,
        title=event.names_session or after.title,
        needs=max(session.needs, event.needs),
        recent_commands=recent,
        since_version=since,
        plan_changed_at=changed_at,
        decisions=with_decision(session.decisions, event),
    )
    after = with_subjects(session, after, event)
    return add_work(session, with_transcript(session, after, event), event)


def fold(session: Session, events: Iterable[SessionEvent]) -> Session:
    return reduce(evolve, events, session)


def _review_state(session: Session) -> tuple[object, ...]:
    """What the user decides on. The time limit of an approval restarts when it changes; messages do not change it."""
    turn = (session.turn.number, *(a.spec for a in session.turn.actions)) if session.turn else ()
    return session.id, session.phase, session.work, session.plan, session.code, session.question, turn


def _plan_state(session: Session) -> tuple[object, ...]:
    """The plan with its status, and the steps of an execution plan with theirs."""
    turn = session.turn
    return session.plan, session.begun_steps, turn.actions if turn and turn.rules.by_step else ()


def _taking_in(session: Session, event: SessionEvent) -> Session:
    """The session that the event applies to: a draft takes messages in, and so does the user's own edit."""
    match event:
        case facts.TurnPlanned() if event.plan_version is not None:
            return session
        case facts.PlanDrafted() | facts.CodeDrafted() | facts.TurnPlanned():
            return messages.take_in_draft(session, event)
        case facts.PlanEdited() | facts.CodeEdited() if session.reply is None:
            return with_heard(session, event.version)
        case _:
            return session


def _apply(session: Session, event: SessionEvent) -> Session:  # noqa: C901, PLR0911, PLR0912  one line per event type
    match event:
        case facts.MessageReceived():
            return messages.message_received(session, event)
        case facts.OfferMade():
            return messages.offer_made(session, event)
        case facts.OfferKept():
            return messages.offer_kept(session, event)
        case facts.RemarkAnswered():
            return messages.remark_answered(session, event)
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
            return _apply_and_follow_edge(session, event)
        case facts.QuestionAsked():
            return questions.question_asked(session, event)
        case facts.QuestionAnswered():
            return questions.question_answered(session, event)
        case facts.TurnChanged():
            return turns.turn_changed(session, event)
        case facts.ApprovalGiven():
            return turns.approval_decided(
                mark_actions(session, [event.action_id], "approved", allowed=True), event.version
            )
        case facts.ApprovalDenied():
            return messages.action_denied(session, event)
        case facts.ApprovalExpired():
            return turns.approval_expired(session, event)
        case facts.ActionsStarted():
            began = session.work.version if session.work else event.version
            return mark_actions(session, [attempt.action_id for attempt in event.actions], "started", began=began)
        case facts.ActionsWaiting():
            return waiting_steps.actions_waiting(session, event)
        case facts.ActionWaited():
            return polling.action_waited(session, event)
        case facts.ActionsFinished() | facts.ActionUncertain() | facts.ResultStored() | facts.ResultLost():
            return turns.actions_ended(
                outcomes.apply_outcomes(session, event), outcomes.action_changes(event).keys(), event.version
            )
        case facts.ActionSkipped():
            return turns.action_skipped(session, event)
        case facts.AnswerJudged():
            return with_answer(session, accepted=event.accepted, saved=event.saved)
        case facts.UsageRecorded():
            return session  # the envelope holds the usage
        case facts.BudgetRaised():
            return _budget_raised_event(session, event)
        case facts.PolicySet():
            return replace(session, policies={**session.policies, event.tool: event.policy})
        case facts.SessionStopped():
            return _session_stopped(session, event)
        case facts.SessionPaused():
            return replace(session, paused=session.phase not in ("resting", "failed"))
        case facts.SessionResumed():
            resumed = replace(session, paused=False)
            waits = session.phase in SERVICE_OF and session.work is None
            return hold(enter_phase(resumed, session.phase, event.version)) if waits else resumed
        case facts.SessionFailed():
            return _session_failed(session, event)
        case facts.SessionRetried():
            return messages.answer_unread(turns.session_retried(session, event), event.version)
        case facts.SessionCompleted():
            return enter_idle_phase(session, "resting", "completed")
        case facts.SessionForked():
            return forks.session_forked(event)
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


APPLY_BY_TYPE: dict[str, Callable[[Session, Any], Session]] = {
    "plan.drafted": plans_and_code.plan_written,
    "plan.edited": plans_and_code.plan_written,
    "plan.approved": plans_and_code.plan_approved,
    "plan.rejected": plans_and_code.plan_rejected,
    "plan.cancelled": plans_and_code.plan_cancelled,
    "plan.deleted": plans_and_code.plan_deleted,
    "code.drafted": plans_and_code.code_written,
    "code.edited": plans_and_code.code_written,
    "code.verified": plans_and_code.code_verified,
    "code.approved": plans_and_code.code_approved,
    "code.rejected": plans_and_code.code_rejected,
    "turn.planned": lambda session, event: (
        turns.turn_planned(session, event)
        if event.plan_version is None
        else plans_and_code.plan_approved(session, event)
    ),
    "turn.requested": turns.turn_requested,
    "turn.verified": turns.turn_verified,
    "answer.given": turns.answer_given,
}


def _apply_and_follow_edge(session: Session, event: SessionEvent) -> Session:
    """Applies the event to plan, code, turn or answer, and enters the phase that the workflow's edge leads to.

    Before actions begin, messages that a stop or a fork has left are answered.
    """
    if isinstance(event, facts.TurnVerified) and session.turn is None:
        return session
    edge = workflows.edge_for(session, event)
    after = follow_edge(APPLY_BY_TYPE[event.type](session, event), edge, event.version)
    return messages.answer_unread(after, event.version) if edge.to == "batch" else after


def _budget_raised_event(session: Session, event: facts.BudgetRaised) -> Session:
    session = budget_raised(session, event)
    if not asks_for_budget(session):
        return session
    return questions.budget_answered(session, event.version)


def _session_failed(session: Session, event: facts.SessionFailed) -> Session:
    """The session, which a retry lets go on."""
    failure = Failure(event.phase, event.reason, event.retryable, event.model_reply)
    return replace(enter_idle_phase(session, "failed"), resume_phase=session.phase, failure=failure)


def _session_stopped(session: Session, event: facts.SessionStopped) -> Session:
    """The session at rest. A retry enters the interrupted phase again, or the phase that asked the open question.

    Where nothing is at work, a stop only withdraws the messages that are to be answered. Those that the stopped work
    would have left to the next draft stay unread.
    """
    if withdraws_message(session):
        heard = replace(with_heard(session, event.version), reply=None)
        at = session.asked_beside
        if at is None:
            return waiting_steps.resume_plan(heard, event.version)
        return questions.return_beside(heard, at, event.version)
    asked_by_a_phase = session.question is not None and session.question.about not in ("action", "uncertain")
    halted = session.resume_phase if asked_by_a_phase else session.phase
    takes_in = session.reply is not None or session.phase in ("planning", "coding")
    stopped = replace(messages.take_in(session, event) if takes_in else session, reply=None, offer=None)
    return replace(enter_idle_phase(stopped, "resting", "stopped"), resume_phase=halted)
