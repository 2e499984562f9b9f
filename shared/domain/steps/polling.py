"""Plan steps that poll: which polls are recorded, and how polling ends.

plan_store's scheduler (the actor `keeper`) asks the executor to poll. Most polls leave no event: only the first value
or error, a changed one (at most `MAX_RECORDED_VALUES` in all) and the end are recorded.
"""

from datetime import datetime, timedelta

from parley.events import facts
from parley.events.facts import MAX_POLLS, WaitEnd
from shared.domain.kernel import commands as c
from shared.domain.kernel import wording
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.errors import OutOfTurn, require
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Action, Poll
from shared.domain.rules.event_meta import event_meta
from shared.domain.turn.batches import change_actions, find_action

MAX_RECORDED_VALUES = 20  # per attempt of a step


def polls_by_action(session: Session) -> dict[str, Poll]:
    """The polling state of the steps that wait for a condition, by action id."""
    return {action.spec.id: action.poll for action in session.waiting_actions if action.poll}


def record_poll(session: Session, command: c.RecordPoll, meta: CommandMeta) -> facts.ActionWaited:
    """Raises OutOfTurn if the poll shows nothing to record."""
    action = find_action(session, command.action_id)
    if action is None or action.poll is None:
        raise OutOfTurn(f"{command.action_id} does not poll now.")
    end: WaitEnd | None = "met" if command.met else "given_up" if _is_last(action, command.polls, meta.at) else None
    error = wording.gave_up(command.polls, last_error=command.error) if end == "given_up" else command.error
    attempt_and_poll = f"{command.action_id}/{command.attempt}/{command.polls}"
    event = facts.ActionWaited(
        **event_meta(session, meta, facts.ActionWaited, attempt_and_poll),
        action_id=command.action_id,
        attempt=command.attempt,
        polls=command.polls,
        value=command.value,
        error=error,
        subject=command.subject,
        end=end,
    )
    if wrong := check_wait(session, event):
        raise OutOfTurn(f"{wrong}.")
    require(end is not None or _is_news(action.poll, event), f"The poll of {command.action_id} returned nothing new.")
    return event


def _is_last(action: Action, polls: int, now: datetime) -> bool:
    return polls >= MAX_POLLS or (action.until is not None and now >= action.until)


def _is_news(known: Poll, event: facts.ActionWaited) -> bool:
    return known.changes == 0 or (known.value, known.error) != (event.value, event.error)


def check_wait(session: Session, event: facts.ActionWaited) -> str:
    """Why this poll, or the end of this wait, cannot be recorded; "" if it can."""
    action = find_action(session, event.action_id)
    if action is None or action.status != "waiting" or action.attempt != event.attempt:
        return f"{event.action_id} does not wait in attempt {event.attempt}"
    known = action.poll
    if known is None:
        is_over = event.end == "met" and action.until is not None and action.until <= event.at
        return "" if is_over else f"{event.action_id} does not wait for a time that has come"
    if event.polls <= known.polls:
        return f"A later poll of {event.action_id} is recorded already"
    if event.end is None and known.changes >= MAX_RECORDED_VALUES:
        return f"{MAX_RECORDED_VALUES} values of {event.action_id} were recorded already"
    if event.end == "given_up" and not _is_last(action, event.polls, event.at):
        return f"{event.action_id} has time left"
    return ""


def action_waited(session: Session, event: facts.ActionWaited) -> Session:
    """The session after a recorded poll, or the end of a wait: what ends it well is the result; giving up fails."""

    def apply(action: Action) -> Action:
        if action.status != "waiting":
            return action
        waited = replace(action, poll=_polled(action, action.poll, event) if action.poll else None)
        if event.end is None:
            return waited
        if event.end == "met":
            return replace(waited, status="finished", result=event.value, error="")
        return replace(waited, status="failed", result=None, error=event.error)

    return change_actions(session, [event.action_id], apply)


def _polled(action: Action, poll: Poll, event: facts.ActionWaited) -> Poll:
    return replace(
        poll,
        polls=event.polls,
        changes=poll.changes + (event.end is None),
        next_poll=next_poll(action, poll.every, event.at),
        value=None if event.end == "met" else event.value,  # then it is the result
        error=event.error,
    )


def next_poll(action: Action, every: int, now: datetime) -> datetime:
    """When the next poll is due: never later than `until`, when the step gives up."""
    after = now + timedelta(seconds=every)
    return min(after, action.until) if action.until and now < action.until else after
