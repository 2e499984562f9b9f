"""What a session has spent: its model calls, also by the actions they were made for, its calls of tools, and time."""

from collections.abc import Sequence

from parley.events import SessionEvent, facts
from parley.events.values import ModelCall
from shared.domain.changing import replace
from shared.domain.plan_steps import GATHER
from shared.domain.session import Session
from shared.domain.spent import Spent
from shared.domain.state import Action
from shared.domain.waves import find


def counted(session: Session, calls: Sequence[ModelCall]) -> Session:
    """The session with these calls in its account, also those of actions that outlived their turn."""
    if not calls:
        return session
    turn, loose = session.turn, session.left_running
    if any(call.action_id for call in calls):
        turn = replace(turn, actions=_with_tokens(turn.actions, calls)) if turn else None
        loose = _with_tokens(loose, calls)
    return replace(session, spent=total(session.spent, calls), turn=turn, left_running=loose)


def total(spent: Spent, calls: Sequence[ModelCall]) -> Spent:
    return replace(
        spent,
        calls=spent.calls + len(calls),
        prompt_tokens=spent.prompt_tokens + sum(call.prompt_tokens for call in calls),
        cached_tokens=spent.cached_tokens + sum(call.cached_tokens for call in calls),
        completion_tokens=spent.completion_tokens + sum(call.completion_tokens for call in calls),
        cost=spent.cost + sum(call.cost for call in calls),
    )


def worked(before: Session, after: Session, event: SessionEvent) -> Session:
    """The session after the event with the calls of tools and the time that lie between both states in its account."""
    since, spent = before.at_work_since, after.spent
    seconds = max((event.at - since).total_seconds(), 0.0) if since else 0.0
    if made := _tool_calls(before, event):
        spent = replace(spent, tool_calls=spent.tool_calls + made)
    if seconds:
        spent = replace(spent, seconds=round(spent.seconds + seconds, 3))
    return replace(after, spent=spent, at_work_since=event.at if after.work else None)


def _tool_calls(before: Session, event: SessionEvent) -> int:
    """The calls that this event starts, and the looks since the one that was recorded before.

    `begin_quiet` counts the quiet reads.
    """
    match event:
        case facts.ActionsStarted():
            actions = (find(before, one.action_id) for one in event.actions)
            started = sum(action is None or action.spec.tool != GATHER for action in actions)
        case facts.ActionPolled():
            polling = find(before, event.action_id)
            started = event.looks - (polling.poll.looks if polling and polling.poll else 0)
        case _:
            started = 0
    return started


def _with_tokens(actions: tuple[Action, ...], calls: Sequence[ModelCall]) -> tuple[Action, ...]:
    tokens: dict[str, int] = {}
    for call in calls:
        tokens[call.action_id] = tokens.get(call.action_id, 0) + call.prompt_tokens + call.completion_tokens
    return tuple(replace(one, tokens=one.tokens + tokens.get(one.spec.id, 0)) for one in actions)
