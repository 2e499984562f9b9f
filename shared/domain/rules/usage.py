"""Accounts a session's usage: model calls (in total and by action), tool calls and working time."""

from collections.abc import Sequence

from parley.events import SessionEvent, facts
from parley.events.values import ModelCall
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Action
from shared.domain.rules.usage_totals import UsageTotals
from shared.domain.steps.plan_steps import GATHER
from shared.domain.turn.batches import find_action


def add_calls(session: Session, calls: Sequence[ModelCall]) -> Session:
    """The session with these model calls added to its totals and to the actions they were made for."""
    if not calls:
        return session
    turn, left_running = session.turn, session.left_running
    if any(call.action_id for call in calls):
        turn = replace(turn, actions=_with_tokens(turn.actions, calls)) if turn else None
        left_running = _with_tokens(left_running, calls)
    return replace(session, spent=sum_calls(session.spent, calls), turn=turn, left_running=left_running)


def sum_calls(spent: UsageTotals, calls: Sequence[ModelCall]) -> UsageTotals:
    return replace(
        spent,
        calls=spent.calls + len(calls),
        prompt_tokens=spent.prompt_tokens + sum(call.prompt_tokens for call in calls),
        cached_tokens=spent.cached_tokens + sum(call.cached_tokens for call in calls),
        completion_tokens=spent.completion_tokens + sum(call.completion_tokens for call in calls),
        cost=spent.cost + sum(call.cost for call in calls),
    )


def add_work(before: Session, after: Session, event: SessionEvent) -> Session:
    """The session after the event, with the tool calls and the time since the session before added to its totals."""
    since, spent = before.at_work_since, after.spent
    seconds = max((event.at - since).total_seconds(), 0.0) if since else 0.0
    if tool_calls := _tool_calls(before, event):
        spent = replace(spent, tool_calls=spent.tool_calls + tool_calls)
    if seconds:
        spent = replace(spent, seconds=round(spent.seconds + seconds, 3))
    return replace(after, spent=spent, at_work_since=event.at if after.works else None)


def _tool_calls(before: Session, event: SessionEvent) -> int:
    """The tool calls that this event starts, and the polls since the last recorded one.

    `begin_quiet_reads` counts the quiet reads.
    """
    match event:
        case facts.ActionsStarted():
            actions = (find_action(before, attempt.action_id) for attempt in event.actions)
            started = sum(action is None or action.spec.tool != GATHER for action in actions)
        case facts.ActionWaited():
            polling = find_action(before, event.action_id)
            started = event.polls - (polling.poll.polls if polling and polling.poll else 0)
        case _:
            started = 0
    return started


def _with_tokens(actions: tuple[Action, ...], calls: Sequence[ModelCall]) -> tuple[Action, ...]:
    tokens: dict[str, int] = {}
    for call in calls:
        tokens[call.action_id] = tokens.get(call.action_id, 0) + call.prompt_tokens + call.completion_tokens
    return tuple(replace(action, tokens=action.tokens + tokens.get(action.spec.id, 0)) for action in actions)
