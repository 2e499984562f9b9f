"""Steps of a plan that wait for a time: the others go on meanwhile, and the keeper ends them when it has come."""

from datetime import datetime, timedelta

from parley.events import facts
from shared.domain import commands as c
from shared.domain.changing import replace
from shared.domain.commands import By
from shared.domain.errors import Invalid, need
from shared.domain.plan_steps import unresolved
from shared.domain.session import Session
from shared.domain.stamp import stamp
from shared.domain.state import Action
from shared.domain.waves import advance, change, mark, ready, running

LONGEST_WAIT = timedelta(days=90)


def due(session: Session, now: datetime) -> tuple[Action, ...]:
    """The steps whose time has come."""
    waiting = session.turn.waiting if session.turn else ()
    return tuple(action for action in waiting if action.until is not None and action.until <= now)


def wakes_at(session: Session) -> datetime | None:
    """When the first of those that wait is due."""
    waiting = session.turn.waiting if session.turn else ()
    return min((action.until for action in waiting if action.until is not None), default=None)


def wait(session: Session, command: c.Wait, by: By) -> facts.ActionsWaiting:
    """Raises OutOfTurn, Invalid."""
    need(not running(session), "Actions are running: steps begin to wait when they have ended.")
    able = {action.spec.id: action.spec for action in ready(session.turn) if action.spec.waits_for == "time"}
    for one in command.actions:
        if (spec := able.get(one.action_id)) is None or unresolved(session, spec):
            raise Invalid(f"{one.action_id} is no step that waits for a time and could begin now.")
        if one.until > by.at + LONGEST_WAIT:
            raise Invalid(f"{one.action_id} would wait longer than {LONGEST_WAIT.days} days.")
    envelope = stamp(session, by, "actions.waiting", command.actions[0].action_id)
    return facts.ActionsWaiting(**envelope, needs=2, actions=command.actions)


def wake(session: Session, by: By) -> facts.ActionsWoken:
    """Raises OutOfTurn."""
    ids = tuple(action.spec.id for action in due(session, by.at))
    need(bool(ids), "No step waits for a time that has come.")
    return facts.ActionsWoken(**stamp(session, by, "actions.woken", ids[0]), needs=2, actions=ids)


def began_to_wait(session: Session, event: facts.ActionsWaiting) -> Session:
    for one in event.actions:
        session = mark(session, [one.action_id], "waiting", until=one.until)
    return advance(session, event.version) if session.phase == "executing" else session


def woken(session: Session, event: facts.ActionsWoken) -> Session:
    """What a step has waited for is its result."""

    def ended(action: Action) -> Action:
        return replace(action, status="finished", result={"until": action.until.isoformat() if action.until else None})

    return gone_on(change(session, event.actions, ended), event.version)


def gone_on(session: Session, version: int) -> Session:
    """The plan goes on with what waits for nothing any more. What a person was being asked is asked again after it."""
    turn, question = session.turn, session.question
    held = session.phase == "executing" and session.work is None  # by words that are answered now, or by a pause
    if session.phase == "waiting" or held:
        return advance(session, version)
    if turn is None or not turn.rules.by_step or question is None or question.about != "action":
        return session
    if all(action.spec.waits_for == "person" for action in ready(turn)):
        return session
    return advance(mark(session, [question.action_id], "planned"), version)
