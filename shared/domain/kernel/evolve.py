"""evolve: folds one event into the session. Handles every event type and never refuses one.

`messages.py`, `plans_and_code.py`, `turns.py` and `outcomes.py` have what each event changes, `workflows/phases.py` the
phase that follows.
"""

from collections.abc import Iterable
from functools import reduce
from typing import assert_never

from parley.events import SessionEvent, facts
from shared.domain.kernel.actors import USER_PREFIX
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.session import (
    MAX_RECENT_COMMANDS,
    SERVICE_OF,
    Session,
    with_answer,
    with_code,
    with_counts,
    with_plan,
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
from shared.domain.transcript.messages import with_heard, withdraws_message
from shared.domain.turn import outcomes, turns
from shared.domain.turn.batches import begin_quiet_reads, end_actions, mark_actions
from shared.domain.workflows.phases import follow_edge

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
    after = _apply_and_follow_edge(_taking_in(accounted, event), event)
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
            return replace(session, offer=None)
        case facts.RemarkAnswered():
            return messages.remark_answered(session, event)
        case facts.PlanDrafted() | facts.PlanEdited():
            return plans_and_code.plan_written(session, event)
        case facts.PlanApproved():
            return plans_and_code.plan_approved(session, event)
        case facts.PlanRejected():
            return plans_and_code.plan_rejected(session, event)
        case facts.PlanCancelled():
            return with_plan(session, "cancelled")
        case facts.PlanDeleted():
            return plans_and_code.plan_deleted(session, event)
        case facts.CodeDrafted() | facts.CodeEdited():
            return plans_and_code.code_written(session, event)
        case facts.CodeVerified():
            return plans_and_code.code_verified(session, event)
        case facts.CodeApproved():
            return with_code(with_plan(session, "completed"), status="approved")
        case facts.CodeRejected():
            return plans_and_code.code_rejected(session, event)
        case facts.TurnPlanned() if event.plan_version is not None:
            return plans_and_code.plan_approved(session, event)
        case facts.TurnPlanned():
            return turns.turn_planned(session, event)
        case facts.TurnRequested():
            return turns.turn_requested(session, event)
        case facts.TurnVerified():
            return turns.turn_verified(session, event)
        case facts.AnswerGiven():
            return turns.answer_given(session, event)
        case facts.QuestionAsked() | facts.SessionRetried() | facts.SessionCompleted() | facts.UsageRecorded():
            return session  # what a question or retry changes depends on its edge; the envelope holds the usage
        case facts.QuestionAnswered():
            return questions.question_answered(session, event)
        case facts.TurnChanged():
            return turns.turn_changed(session, event)
        case facts.ApprovalGiven():
            return mark_actions(session, [event.action_id], "approved", allowed=True)
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
        case (
            facts.ActionsFinished()
            | facts.ActionSkipped()
            | facts.ActionUncertain()
            | facts.ResultStored()
            | facts.ResultLost()
        ):
            return outcomes.apply_outcomes(session, event)
        case facts.AnswerJudged():
            return with_answer(session, accepted=event.accepted, saved=event.saved)
        case facts.BudgetRaised():
            return budget_raised(session, event)
        case facts.PolicySet():
            return replace(session, policies={**session.policies, event.tool: event.policy})
        case facts.SessionStopped():
            return _session_stopped(session, event)
        case facts.SessionPaused():
            return replace(session, paused=session.phase not in ("resting", "failed"))
        case facts.SessionResumed():
            return replace(session, paused=False)
        case facts.SessionFailed():
            failure = Failure(event.phase, event.reason, event.retryable, event.model_reply)
            return replace(session, failure=failure)
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


def _apply_and_follow_edge(session: Session, event: SessionEvent) -> Session:
    """Applies the event to plan, code, turn or answer, and enters the phase that follows."""
    after = _apply(session, event)
    if isinstance(event, facts.TurnVerified) and session.turn is None:
        return after
    return follow_edge(session, after, event)


def _session_stopped(session: Session, event: facts.SessionStopped) -> Session:
    """Where nothing is at work, a stop only withdraws the messages that are to be answered.

    Those that the stopped work would have left to the next draft stay unread.
    """
    if withdraws_message(session):
        return replace(with_heard(session, event.version), reply=None)
    takes_in = session.reply is not None or session.phase in ("planning", "coding")
    return replace(messages.take_in(session, event) if takes_in else session, reply=None, offer=None)
