"""Steps of a plan that wait for a time, or poll for a condition: the others go on meanwhile.

The keeper wakes them when their time has come. What becomes of those that poll is in `polling`.
"""

from datetime import datetime, timedelta

from parley.events import facts
from parley.events.facts import LONGEST_POLL, SHORTEST_POLL
from parley.events.values import Waiting, WaitsFor
from shared.domain import commands as c
from shared.domain.changing import replace
from shared.domain.commands import CommandMeta
from shared.domain.errors import Invalid, need
from shared.domain.event_meta import event_meta
from shared.domain.plan_steps import unresolved
from shared.domain.session import Session, undecided
from shared.domain.state import Action, Poll
from shared.domain.waves import advance, change, mark, ready, running

LONGEST_WAIT = timedelta(days=90)


def due(session: Session, now: datetime) -> tuple[Action, ...]:
    """The steps that wait for a time which has come."""
    waiting = session.turn.waiting if session.turn else ()
    return tuple(one for one in waiting if one.poll is None and one.until is not None and one.until <= now)


def wakes_at(session: Session) -> datetime | None:
    """When the first of those that wait is due, as far as the log tells: looks that showed nothing are not in it."""
    waiting = session.turn.waiting if session.turn else ()
    times = (action.poll.next_look if action.poll else action.until for action in waiting)
    return min((time for time in times if time is not None), default=None)


def wait(session: Session, command: c.Wait, meta: CommandMeta) -> facts.ActionsWaiting:
    """Raises OutOfTurn, Invalid."""
    need(not running(session), "Actions are running: steps begin to wait when they have ended.")
    able = {action.spec.id: action.spec for action in ready(session.turn)}
    for one in command.actions:
        spec = able.get(one.action_id)
        if spec is None or spec.waits_for != waits_for(one) or unresolved(session, spec):
            raise Invalid(f"{one.action_id} is no step that waits for a {waits_for(one)} and could begin now.")
        if wrong := _out_of_bounds(one, meta.at):
            raise Invalid(f"{one.action_id} {wrong}.")
    return facts.ActionsWaiting(
        **event_meta(session, meta, facts.ActionsWaiting, command.actions[0].action_id, needs=2),
        actions=command.actions,
    )


def waits_for(waiting: Waiting) -> WaitsFor:
    return "time" if waiting.every is None else "condition"


def _out_of_bounds(waiting: Waiting, now: datetime) -> str:
    if waiting.every is None:
        return f"would wait longer than {LONGEST_WAIT.days} days" if waiting.until > now + LONGEST_WAIT else ""
    if waiting.every < SHORTEST_POLL:
        return f"would look more often than every {SHORTEST_POLL} seconds"
    longest = timedelta(seconds=LONGEST_POLL)
    return f"would look for longer than {LONGEST_POLL // 3600} hours" if waiting.until > now + longest else ""


def wake(session: Session, meta: CommandMeta) -> facts.ActionsWoken:
    """Raises OutOfTurn."""
    ids = tuple(action.spec.id for action in due(session, meta.at))
    need(bool(ids), "No step waits for a time that has come.")
    return facts.ActionsWoken(**event_meta(session, meta, facts.ActionsWoken, ids[0], needs=2), actions=ids)


def began_to_wait(session: Session, event: facts.ActionsWaiting) -> Session:
    for one in event.actions:
        poll = Poll(one.every, began=event.version, next_look=event.at) if one.every else None
        session = mark(session, [one.action_id], "waiting", until=one.until, poll=poll)
    return advance(session, event.version) if session.phase == "executing" else session


def woken(session: Session, event: facts.ActionsWoken) -> Session:
    """What a step has waited for is its result."""

    def ended(action: Action) -> Action:
        return replace(action, status="finished", result={"until": action.until.isoformat() if action.until else None})

    return gone_on(change(session, event.actions, ended), event.version)


def _cannot_start(session: Session) -> bool:
    """Whether the wave that the executor is to start cannot begin as it is now.

    A step that failed keeps it from beginning, what is ready now needs a person's yes, or words that are being
    answered, or a pause, have taken the work.
    """
    if session.work is None:
        return True
    wave = ready(session.turn)
    return not running(session) and (not wave or any(action in wave for action in undecided(session.turn)))


def gone_on(session: Session, version: int) -> Session:
    """The plan goes on with what waits for nothing any more. What a person was being asked is asked again after it."""
    turn, question = session.turn, session.question
    if session.phase == "waiting" or (session.phase == "executing" and _cannot_start(session)):
        return advance(session, version)
    if turn is None or not turn.rules.by_step or question is None or question.about != "action":
        return session
    if all(action.spec.waits_for == "person" for action in ready(turn)):
        return session
    return advance(mark(session, [question.action_id], "planned"), version)
