"""Plan steps that wait for a time or poll for a condition, while the other steps go on.

The keeper wakes a step when its time has come. `polling` records what polling steps see.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta

from parley.events import facts
from parley.events.facts import MAX_POLL_TIME, MIN_POLL_INTERVAL
from parley.events.values import Waiting, WaitsFor
from shared.domain.kernel import commands as c
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.errors import Invalid, require
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Action, Poll
from shared.domain.rules.event_meta import event_meta
from shared.domain.steps.plan_steps import is_unresolved
from shared.domain.turn.batches import mark_actions, next_batch, running_actions

MAX_WAIT = timedelta(days=90)


def due_steps(session: Session, now: datetime) -> tuple[Action, ...]:
    """The steps whose wait is over."""
    return tuple(a for a in session.waiting_actions if a.poll is None and a.until is not None and a.until <= now)


def next_wake(session: Session) -> datetime | None:
    """When the first waiting step is due, as far as the log knows: polls without news are not in the log."""
    times = (action.poll.next_poll if action.poll else action.until for action in session.waiting_actions)
    return min((time for time in times if time is not None), default=None)


def wait(session: Session, command: c.Wait, meta: CommandMeta) -> facts.ActionsWaiting:
    """Raises OutOfTurn, Invalid."""
    require(not running_actions(session), "Actions are running: steps begin to wait when they have ended.")
    if wrong := check_waiting(session, command.actions):
        raise Invalid(f"{wrong}.")
    unresolved = {action.spec.id for action in next_batch(session.turn) if is_unresolved(session, action.spec)}
    for waiting in command.actions:
        if waiting.action_id in unresolved:
            raise Invalid(f"The values that {waiting.action_id} needs are not known yet.")
        if wrong := _out_of_bounds(waiting, meta.at):
            raise Invalid(f"{waiting.action_id} {wrong}.")
    return facts.ActionsWaiting(
        **event_meta(session, meta, facts.ActionsWaiting, command.actions[0].action_id),
        actions=command.actions,
    )


def check_waiting(session: Session, steps: Iterable[Waiting]) -> str:
    """Why one of these cannot begin to wait: only steps of the batch do, as the plan says. "" if all can."""
    waits = {action.spec.id: action.spec.waits_for for action in next_batch(session.turn)}
    wrong = next((step for step in steps if waits.get(step.action_id) != wait_kind(step)), None)
    return f"{wrong.action_id} is not a step that waits for a {wait_kind(wrong)} and could begin now" if wrong else ""


def wait_kind(waiting: Waiting) -> WaitsFor:
    return "time" if waiting.every is None else "condition"


def _out_of_bounds(waiting: Waiting, now: datetime) -> str:
    if waiting.every is None:
        return f"would wait longer than {MAX_WAIT.days} days" if waiting.until > now + MAX_WAIT else ""
    if waiting.every < MIN_POLL_INTERVAL:
        return f"would poll more often than every {MIN_POLL_INTERVAL} seconds"
    longest = timedelta(seconds=MAX_POLL_TIME)
    return f"would poll for longer than {MAX_POLL_TIME // 3600} hours" if waiting.until > now + longest else ""


def wake(session: Session, meta: CommandMeta) -> facts.ActionWaited:
    """The first step whose time has come ends, and the time is its result. Raises OutOfTurn."""
    due = due_steps(session, meta.at)
    require(bool(due), "No step waits for a time that has come.")
    action = due[0]
    return facts.ActionWaited(
        **event_meta(session, meta, facts.ActionWaited, action.spec.id),
        action_id=action.spec.id,
        attempt=action.attempt,
        value={"until": action.until.isoformat() if action.until else None},
        end="met",
    )


def actions_waiting(session: Session, event: facts.ActionsWaiting) -> Session:
    for waiting in event.actions:
        poll = Poll(waiting.every, began=event.version, next_poll=event.at) if waiting.every else None
        session = mark_actions(session, [waiting.action_id], "waiting", until=waiting.until, poll=poll)
    return session
