"""Steps of a plan that wait for a time, or poll for a condition: the others go on meanwhile.

The keeper wakes them when their time has come. For a step that polls it looks every so often, which is no event: only
the first value, another one, and the end are recorded.
"""

from datetime import datetime, timedelta

from pydantic import JsonValue

from parley.events import facts
from parley.events.facts import LONGEST_POLL, MOST_LOOKS, SHORTEST_POLL, PollEnd
from parley.events.values import Waiting, WaitsFor
from shared.domain import commands as c
from shared.domain import wording
from shared.domain.changing import replace
from shared.domain.commands import By
from shared.domain.errors import Invalid, OutOfTurn, need
from shared.domain.plan_steps import unresolved
from shared.domain.session import Session
from shared.domain.stamp import stamp
from shared.domain.state import Action, Poll
from shared.domain.waves import advance, change, find, mark, ready, running

LONGEST_WAIT = timedelta(days=90)
MOST_CHANGES = 20  # values that are recorded of one step that polls


def due(session: Session, now: datetime) -> tuple[Action, ...]:
    """The steps that wait for a time which has come."""
    waiting = session.turn.waiting if session.turn else ()
    return tuple(one for one in waiting if one.poll is None and one.until is not None and one.until <= now)


def polling(session: Session) -> dict[str, Poll]:
    """How the steps stand that poll now, by the ids of their actions."""
    waiting = session.turn.waiting if session.turn else ()
    return {action.spec.id: action.poll for action in waiting if action.poll}


def wakes_at(session: Session) -> datetime | None:
    """When the first of those that wait is due, as far as the log tells: looks that showed nothing are not in it."""
    waiting = session.turn.waiting if session.turn else ()
    times = (action.poll.next_look if action.poll else action.until for action in waiting)
    return min((time for time in times if time is not None), default=None)


def wait(session: Session, command: c.Wait, by: By) -> facts.ActionsWaiting:
    """Raises OutOfTurn, Invalid."""
    need(not running(session), "Actions are running: steps begin to wait when they have ended.")
    able = {action.spec.id: action.spec for action in ready(session.turn)}
    for one in command.actions:
        spec = able.get(one.action_id)
        if spec is None or spec.waits_for != waits_for(one) or unresolved(session, spec):
            raise Invalid(f"{one.action_id} is no step that waits for a {waits_for(one)} and could begin now.")
        if wrong := _out_of_bounds(one, by.at):
            raise Invalid(f"{one.action_id} {wrong}.")
    envelope = stamp(session, by, "actions.waiting", command.actions[0].action_id)
    return facts.ActionsWaiting(**envelope, needs=2, actions=command.actions)


def waits_for(waiting: Waiting) -> WaitsFor:
    return "time" if waiting.every is None else "condition"


def _out_of_bounds(waiting: Waiting, now: datetime) -> str:
    if waiting.every is None:
        return f"would wait longer than {LONGEST_WAIT.days} days" if waiting.until > now + LONGEST_WAIT else ""
    if waiting.every < SHORTEST_POLL:
        return f"would look more often than every {SHORTEST_POLL} seconds"
    longest = timedelta(seconds=LONGEST_POLL)
    return f"would look for longer than {LONGEST_POLL // 3600} hours" if waiting.until > now + longest else ""


def poll(session: Session, command: c.RecordLook, by: By) -> facts.ActionPolled:
    """Raises OutOfTurn where nothing of it is to be recorded."""
    action = find(session, command.action_id)
    if action is None or action.attempt != command.attempt or action.poll is None or action.status != "waiting":
        raise OutOfTurn(f"{command.action_id} does not poll now.")
    need(command.looks > action.poll.looks, "A later look of this step was recorded.")
    end: PollEnd | None = "met" if command.met else "given_up" if _is_last(action, command.looks, by.at) else None
    if end is None and not _is_news(action.poll, command.value, command.error):
        raise OutOfTurn(f"{command.action_id} saw nothing new.")
    error = command.error
    if end == "given_up":
        error = wording.gave_up(command.looks, last_error=command.error)
    return facts.ActionPolled(
        **stamp(session, by, "action.polled", f"{command.action_id}/{command.attempt}/{command.looks}"),
        needs=2,
        action_id=command.action_id,
        attempt=command.attempt,
        looks=command.looks,
        value=command.value,
        error=error,
        end=end,
    )


def _is_last(action: Action, looks: int, now: datetime) -> bool:
    return looks >= MOST_LOOKS or (action.until is not None and now >= action.until)


def _is_news(known: Poll, value: JsonValue, error: str) -> bool:
    """Only so many values are recorded; the end always is."""
    return known.changes < MOST_CHANGES and (known.changes == 0 or (known.value, known.error) != (value, error))


def wrong_poll(session: Session, event: facts.ActionPolled) -> str:
    """Why this cannot be what the step saw; "" where it can."""
    action = find(session, event.action_id)
    known = action.poll if action and action.status == "waiting" and action.attempt == event.attempt else None
    if action is None or known is None:
        return f"attempt {event.attempt} of {event.action_id} does not poll"
    if event.looks <= known.looks:
        return f"{event.action_id} has looked {known.looks} times already"
    if event.end is None and known.changes >= MOST_CHANGES:
        return f"{MOST_CHANGES} values of {event.action_id} were recorded already"
    if event.end == "given_up" and not _is_last(action, event.looks, event.at):
        return f"{event.action_id} has time left"
    return ""


def wake(session: Session, by: By) -> facts.ActionsWoken:
    """Raises OutOfTurn."""
    ids = tuple(action.spec.id for action in due(session, by.at))
    need(bool(ids), "No step waits for a time that has come.")
    return facts.ActionsWoken(**stamp(session, by, "actions.woken", ids[0]), needs=2, actions=ids)


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


def polled(session: Session, event: facts.ActionPolled) -> Session:
    """What a step saw last is its result where the condition holds. A step that gives up has failed."""

    def seen(action: Action) -> Action:
        if action.poll is None:
            return action
        poll = replace(
            action.poll,
            looks=event.looks,
            changes=action.poll.changes + (event.end is None),
            next_look=next_look(action, action.poll.every, event.at),
            value=None if event.end == "met" else event.value,  # then it is the result
            error=event.error,
        )
        if event.end is None:
            return replace(action, poll=poll)
        met = event.end == "met"
        ended = replace(action, status="finished" if met else "failed", poll=poll)
        return replace(ended, result=event.value if met else None, error="" if met else event.error)

    after = change(session, [event.action_id], seen)
    return gone_on(after, event.version) if event.end else after


def next_look(action: Action, every: int, now: datetime) -> datetime:
    """The last one is at the time at which the step gives up."""
    after = now + timedelta(seconds=every)
    return min(after, action.until) if action.until and now < action.until else after


def gone_on(session: Session, version: int) -> Session:
    """The plan goes on with what waits for nothing any more. What a person was being asked is asked again after it."""
    turn, question = session.turn, session.question
    # A step that failed keeps what was due from beginning; words that are answered now, or a pause, took the work.
    halted = session.phase == "executing" and (session.work is None or not (running(session) or ready(turn)))
    if session.phase == "waiting" or halted:
        return advance(session, version)
    if turn is None or not turn.rules.by_step or question is None or question.about != "action":
        return session
    if all(action.spec.waits_for == "person" for action in ready(turn)):
        return session
    return advance(mark(session, [question.action_id], "planned"), version)
