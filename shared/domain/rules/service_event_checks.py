"""Whether an event of a service may be the session's next one, by its sender and its actions' states. Pure.

Readers of the log call these checks. Each returns why the event may not come next, "" if it may.
"""

from collections.abc import Collection

from parley.events import SessionEvent, facts
from parley.events.values import ActionAttempt
from shared.domain.kernel.actors import KEEPER, USER_PREFIX
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import ActionStatus
from shared.domain.steps import waiting_steps
from shared.domain.steps.polling import check_wait
from shared.domain.turn.batches import find_action

AWAITS_OUTCOME: frozenset[ActionStatus] = frozenset({"running", "started", "uncertain"})
REPLIES = (  # what a reply to a message can be
    *(facts.RemarkAnswered, facts.OfferMade, facts.QuestionAsked),
    *(facts.PlanDrafted, facts.CodeDrafted, facts.TurnPlanned),
)
RELOAD = "load the session and decide again"


def check_is_user(event: SessionEvent) -> str:
    if event.actor.startswith(USER_PREFIX) and event.actor != USER_PREFIX:
        return ""
    return f"its actor is “{event.actor}”, but only a person ({USER_PREFIX}<id>) says this"


def check_is_own_work(session: Session, event: SessionEvent) -> str:
    """The event must name the current work and come from the service that is due, or give the work up as the keeper."""
    works = session.works
    if not works:
        return "no service is due"
    work = next((work for work in works if event.id.startswith(f"{session.id}:{work.version}:")), None)
    if work is None:
        return f"its id does not begin with the work at hand, {session.id}:{works[0].version}: {RELOAD}"
    replies = work == session.reply
    if (replies and not isinstance(event, REPLIES)) or (isinstance(event, facts.OfferMade) and not replies):
        return f"{event.type} does not come of the {work.service}'s work: {RELOAD}"
    gives_up = facts.RemarkAnswered if replies else facts.SessionFailed
    is_sender = event.actor == work.service or (event.actor == KEEPER and isinstance(event, gives_up))
    return "" if is_sender else f"its actor is “{event.actor}”, but {work.service} is due"


def check_turn_changed(session: Session, event: facts.TurnChanged) -> str:
    """The service that is due may change the turn, and so may a user if the turn is changeable."""
    by_user = session.turn is not None and session.turn.rules.changeable and not check_is_user(event)
    return "" if by_user else check_is_own_work(session, event)


def check_question_asked(session: Session, event: facts.QuestionAsked) -> str:
    """A user may ask for the `continue` question; all other questions come from the service that is due."""
    by_user = event.kind == "continue" and not check_is_user(event)
    return "" if by_user else check_is_own_work(session, event)


def check_outcomes(session: Session, event: facts.ActionsFinished) -> str:
    reasons = (check_outcome(session, outcome) for outcome in event.outcomes)
    return next((reason for reason in reasons if reason), "")


def check_outcome(
    session: Session,
    attempt: ActionAttempt | facts.ActionUncertain,
    statuses: Collection[ActionStatus] = AWAITS_OUTCOME,
) -> str:
    """Why this attempt's outcome cannot be recorded; "" if its action has one of these statuses."""
    action = find_action(session, attempt.action_id)
    if action is None or action.status not in statuses:
        return f"Action {attempt.action_id} is not running."
    return "" if action.attempt == attempt.attempt else f"Action {attempt.action_id} has been started again since."


def check_stored_result(session: Session, attempt: ActionAttempt | facts.ResultStored | facts.ResultLost) -> str:
    action = find_action(session, attempt.action_id)
    storing = action is not None and action.storing and action.attempt == attempt.attempt
    return "" if storing else f"No result of action {attempt.action_id} is being stored."


def check_waiting(session: Session, event: facts.ActionsWaiting) -> str:
    return waiting_steps.check_waiting(session, event.actions) or check_is_own_work(session, event)


def check_waited(session: Session, event: facts.ActionWaited) -> str:
    if wrong := check_wait(session, event):
        return wrong
    return "" if event.actor == KEEPER else f"its actor is “{event.actor}”, but only the {KEEPER} says this"
