"""What folding refuses of what services report: work that is not theirs, outcomes of what does not run. Pure.

Each function returns why the event cannot be the next one, "" where it can.
"""

from parley.events import SessionEvent, facts
from parley.events.values import ActionAttempt
from shared.domain.polling import wrong_look
from shared.domain.session import Session
from shared.domain.state import ActionStatus
from shared.domain.waiting import due, waits_for
from shared.domain.waves import find, ready

PERSON = "user:"
KEEPER = "keeper"  # fails the work that a service gave up or lost, and begins sessions by schedule
SCHEDULED = "template/"
TAKES_OUTCOME: frozenset[ActionStatus] = frozenset({"running", "started", "uncertain"})
RELOAD = "load the session and decide again"


def not_a_person(event: SessionEvent) -> str:
    if event.actor.startswith(PERSON) and event.actor != PERSON:
        return ""
    return f"its actor is “{event.actor}”, but only a person ({PERSON}<id>) says this"


def not_of_the_work(session: Session, event: SessionEvent) -> str:
    """The event must name the work at hand, and come from the service whose work that is."""
    work = session.work
    if work is None:
        return "no service is due"
    if not event.id.startswith(f"{session.id}:{work.version}:"):
        return f"its id does not begin with the work at hand, {session.id}:{work.version}: {RELOAD}"
    keeps = event.actor == KEEPER and isinstance(event, facts.SessionFailed)
    return "" if keeps or event.actor == work.service else f"its actor is “{event.actor}”, but {work.service} is due"


def changed_turn(session: Session, event: facts.TurnChanged) -> str:
    """Besides the service that is due, a person may change what can be changed."""
    own = session.turn is not None and session.turn.rules.changeable and not not_a_person(event)
    return "" if own else not_of_the_work(session, event)


def asked_question(session: Session, event: facts.QuestionAsked) -> str:
    """A person may have themselves asked what comes next; every other question comes from the service that is due."""
    own = event.kind == "continue" and not not_a_person(event)
    return "" if own else not_of_the_work(session, event)


def outcomes(session: Session, event: facts.ActionsFinished) -> str:
    wrong = (outcome(session, one) for one in event.outcomes)
    return next((one for one in wrong if one), "")


def outcome(session: Session, attempt: ActionAttempt | facts.ActionUncertain) -> str:
    action = find(session, attempt.action_id)
    under_way = action is not None and action.status in TAKES_OUTCOME and action.attempt == attempt.attempt
    return "" if under_way else f"attempt {attempt.attempt} of action {attempt.action_id} is not running"


def stored_result(session: Session, event: facts.ResultStored | facts.ResultLost) -> str:
    action = find(session, event.action_id)
    storing = action is not None and action.storing and action.attempt == event.attempt
    return "" if storing else f"no result of attempt {event.attempt} of action {event.action_id} is being stored"


def began_to_wait(session: Session, event: facts.ActionsWaiting) -> str:
    """Only a step that the plan says waits for a time, or polls, can do so."""
    waits = {action.spec.id: action.spec.waits_for for action in ready(session.turn)}
    wrong = [one for one in event.actions if waits.get(one.action_id) != waits_for(one)]
    if wrong:
        return f"{wrong[0].action_id} is no step that could wait for a {waits_for(wrong[0])} now"
    return not_of_the_work(session, event)


def woken(session: Session, event: facts.ActionsWoken) -> str:
    known = {action.spec.id for action in due(session, event.at)}
    if wrong := [one for one in event.actions if one not in known]:
        return f"{wrong[0]} does not wait for a time that has come"
    return "" if event.actor == KEEPER else f"its actor is “{event.actor}”, but only the {KEEPER} wakes a step"


def polled(session: Session, event: facts.ActionPolled) -> str:
    if wrong := wrong_look(session, event):
        return wrong
    return "" if event.actor == KEEPER else f"its actor is “{event.actor}”, but only the {KEEPER} polls"
