"""The conditions of the edges in `phases.py`: what messages, questions and a user's commands lead to.

First those on the session before the event, then those on the session with the event's changes.
"""

from typing import Any

from parley.events import facts
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.session import SERVICE_OF, Phase, Session, review_target, with_answer, with_code, with_plan
from shared.domain.steps.plan_steps import is_unfinished
from shared.domain.transcript.messages import asks_for_budget, withdraws_message
from shared.domain.transcript.questions import next_question
from shared.domain.turn.batches import running_actions

# --- the session before the event


def brings_plan(session: Session, event: facts.MessageReceived) -> bool:
    """The plan follows without a planner."""
    return event.intent == "request" and event.brings_plan


def begins_request(session: Session, event: facts.MessageReceived) -> bool:
    return event.intent == "request"


def answers_question(session: Session, event: facts.MessageReceived) -> bool:
    return event.intent == "feedback" and session.question is not None


def revises_code(session: Session, event: facts.MessageReceived) -> bool:
    return event.intent == "feedback" and session.phase != "escalated" and review_target(session) == "code"


def gives_feedback(session: Session, event: facts.MessageReceived) -> bool:
    return event.intent == "feedback"


def answered_beside(session: Session, event: facts.RemarkAnswered) -> bool:
    """The message was answered beside what waits or runs."""
    return session.reply is not None


def unread_at_turn_limit(session: Session, event: facts.QuestionAsked) -> bool:
    """The person has just said something, so the turns that may be taken are counted anew."""
    return event.kind == "turns" and bool(session.words.unread)


def has_no_question(session: Session, event: facts.QuestionAnswered) -> bool:
    return session.question is None


def wants_to_continue(session: Session, event: facts.QuestionAnswered) -> bool:
    return session.question is not None and session.question.about == "continue"


def about_an_action(session: Session, event: facts.QuestionAnswered) -> bool:
    return session.question is not None and session.question.about in ("action", "uncertain")


def wants_answer_now(session: Session, event: facts.QuestionAnswered) -> bool:
    """The user wants an answer with what there is, instead of going on."""
    return event.key == "answer" and not asks_for_budget(session)


def asks_further(session: Session, event: facts.QuestionAnswered) -> bool:
    """Several questions were asked together, and one is left."""
    return not asks_for_budget(session) and next_question(session, event) is not None


def has_no_turn(session: Session, event: facts.TurnChanged) -> bool:
    return session.turn is None


def replans_path(session: Session, event: facts.ApprovalDenied) -> bool:
    """The words of the denial lead to a new path."""
    return bool(event.reason) and session.turn is not None and session.turn.rules.one_by_one


def objects_to_step(session: Session, event: facts.ApprovalDenied) -> bool:
    """The words of the denial are a message about the plan that is carried out."""
    return bool(event.reason) and session.turn is not None and session.turn.rules.by_step


def ends_nothing(session: Session, event: facts.ApprovalExpired) -> bool:
    """What expired was the approval of a plan or code, so no action ends."""
    return not event.unanswered and not event.denied


def ends_wait(session: Session, event: facts.ActionWaited) -> bool:
    return event.end is not None


def moves_turn(session: Session, event: Any) -> bool:
    """An action of the turn ended while the session carries it out, or asks the user about this action."""
    ids = {outcome.action_id for outcome in event.outcomes} if event.type == "actions.finished" else {event.action_id}
    question = session.question
    asked = question is not None and question.about in ("uncertain", "action") and question.action_id in ids
    live = session.phase in ("executing", "awaiting_approval", "waiting") or asked
    return live and session.turn is not None and any(action.spec.id in ids for action in session.turn.actions)


def needs_no_budget(session: Session, event: facts.BudgetRaised) -> bool:
    """Nothing waits for the budget."""
    return not asks_for_budget(session)


def asked_beside(session: Session, event: facts.BudgetRaised | facts.SessionStopped) -> bool:
    """The open question is about a message, and nothing was at work when it was asked."""
    return session.asked_beside is not None


def withdraws_only_message(session: Session, event: facts.SessionStopped) -> bool:
    """Nothing is at work."""
    return withdraws_message(session)


def halted_phase(session: Session, event: facts.SessionStopped) -> Phase | None:
    """The interrupted phase, or the one that asked the open question."""
    asked_by_a_phase = session.question is not None and session.question.about not in ("action", "uncertain")
    return session.resume_phase if asked_by_a_phase else session.phase


def waits_for_service(session: Session, event: facts.SessionResumed) -> bool:
    """The pause has kept a service from its work."""
    return session.phase in SERVICE_OF and session.work is None


def plan_is_unfinished(session: Session, event: facts.SessionRetried) -> bool:
    """A plan was interrupted in its steps, not after them."""
    return is_unfinished(session) and session.resume_phase not in ("verifying", "answering")


def forks_plan(session: Session, event: facts.SessionForked) -> bool:
    return event.carried.plan is not None


def own_phase(session: Session, event: Any) -> Phase:
    """The phase that the session is in."""
    return session.phase


# --- the session with the event's changes


def was_reviewing_actions(session: Session, event: Any) -> bool:
    return session.turn is not None and phase_beside(session, event) == "awaiting_approval"


def resume_review(session: Session, event: Any) -> Session:
    return replace(session, resume_phase="awaiting_approval")


def was_waiting(session: Session, event: Any) -> bool:
    """The plan waited for a time or condition, and none of its actions runs."""
    return phase_beside(session, event) == "waiting" and not running_actions(session)


def phase_beside(session: Session, event: Any) -> Phase:
    """The phase in which a service asked in reply to a message."""
    return session.asked_beside.phase if session.asked_beside else session.phase


def resume_phase_beside(session: Session, event: Any) -> Phase | None:
    return session.asked_beside.resume_phase if session.asked_beside else None


def has_unread(session: Session, event: Any) -> bool:
    return bool(session.words.unread)


def code_is_unchecked(session: Session, event: Any) -> bool:
    """The message came while the code was made, so nobody has seen it yet."""
    return session.phase == "coding" and session.code is not None and session.code.status == "checking"


def plan_is_unseen(session: Session, event: Any) -> bool:
    """The message came while the plan was made, so nobody has seen it yet."""
    plan, begun = session.plan, session.words.request_version
    return session.phase == "planning" and plan is not None and plan.status == "draft" and plan.version > begun


def was_in_review(session: Session, event: Any) -> bool:
    """Plan or code is in review, and was not declined."""
    return review_target(session) is not None and not session.next_draft.after_decline


def review_again(session: Session, event: Any) -> Session:
    reviews_code = review_target(session) == "code"
    return with_code(session, status="review") if reviews_code else with_plan(session, "pending_approval")


def answer_with_reply(session: Session, event: facts.RemarkAnswered) -> Session:
    return with_answer(session, text=event.text, confidence=1.0)
