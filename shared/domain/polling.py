"""Plan steps that poll: which polls are recorded, and how polling ends.

plan_store's scheduler (the actor `keeper`) asks the executor to poll. Most polls leave no event: only the first value
or error, a changed one (at most `MAX_RECORDED_VALUES` in all) and the end are recorded. Events call a poll a look.
"""

from datetime import datetime, timedelta

from pydantic import JsonValue

from parley.events import facts
from parley.events.facts import MAX_LOOKS, PollEnd
from shared.domain import commands as c
from shared.domain import wording
from shared.domain.batches import change_actions, find_action
from shared.domain.commands import CommandMeta
from shared.domain.errors import OutOfTurn, require
from shared.domain.event_meta import event_meta
from shared.domain.fast_replace import replace
from shared.domain.session import Session
from shared.domain.state import Action, Poll
from shared.domain.waiting_steps import resume_plan

MAX_RECORDED_VALUES = 20  # per attempt of a step


def polls_by_action(session: Session) -> dict[str, Poll]:
    """The polling state of the steps that wait for a condition, by action id."""
    return {action.spec.id: action.poll for action in session.waiting_actions if action.poll}


def record_look(session: Session, command: c.RecordLook, meta: CommandMeta) -> facts.ActionPolled:
    """Raises OutOfTurn if the poll shows nothing to record."""
    action = find_action(session, command.action_id)
    if action is None or action.attempt != command.attempt or action.poll is None or action.status != "waiting":
        raise OutOfTurn(f"{command.action_id} does not poll now.")
    require(command.looks > action.poll.looks, "A later poll of this step is recorded already.")
    end: PollEnd | None = "met" if command.met else "given_up" if _is_last(action, command.looks, meta.at) else None
    if end is None and not _is_news(action.poll, command.value, command.error):
        raise OutOfTurn(f"The poll of {command.action_id} returned nothing new.")
    error = command.error
    if end == "given_up":
        error = wording.gave_up(command.looks, last_error=command.error)
    attempt_and_look = f"{command.action_id}/{command.attempt}/{command.looks}"
    return facts.ActionPolled(
        **event_meta(session, meta, facts.ActionPolled, attempt_and_look, needs=2),
        action_id=command.action_id,
        attempt=command.attempt,
        looks=command.looks,
        value=command.value,
        error=error,
        subject=command.subject,
        end=end,
    )


def _is_last(action: Action, looks: int, now: datetime) -> bool:
    return looks >= MAX_LOOKS or (action.until is not None and now >= action.until)


def _is_news(known: Poll, value: JsonValue, error: str) -> bool:
    """Whether the poll returned something new, and fewer than `MAX_RECORDED_VALUES` values are recorded."""
    return known.changes < MAX_RECORDED_VALUES and (known.changes == 0 or (known.value, known.error) != (value, error))


def check_look(session: Session, event: facts.ActionPolled) -> str:
    """Why this poll cannot be recorded; "" if it can."""
    action = find_action(session, event.action_id)
    known = action.poll if action and action.status == "waiting" and action.attempt == event.attempt else None
    if action is None or known is None:
        return f"attempt {event.attempt} of {event.action_id} does not poll"
    if event.looks <= known.looks:
        return f"poll {known.looks} of {event.action_id} is recorded already"
    if event.end is None and known.changes >= MAX_RECORDED_VALUES:
        return f"{MAX_RECORDED_VALUES} values of {event.action_id} were recorded already"
    if event.end == "given_up" and not _is_last(action, event.looks, event.at):
        return f"{event.action_id} has time left"
    return ""


def action_polled(session: Session, event: facts.ActionPolled) -> Session:
    """The session after a recorded poll. A value that meets the condition is the result; giving up is a failure."""

    def apply_poll(action: Action) -> Action:
        if action.poll is None or action.status != "waiting":
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

    after = change_actions(session, [event.action_id], apply_poll)
    return resume_plan(after, event.version) if event.end else after


def next_look(action: Action, every: int, now: datetime) -> datetime:
    """When the next poll is due: never later than `until`, when the step gives up."""
    after = now + timedelta(seconds=every)
    return min(after, action.until) if action.until and now < action.until else after
