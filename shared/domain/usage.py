"""What a session's model calls come to: its totals, and the tokens of the actions they were made for."""

from collections.abc import Sequence

from parley.events.values import ModelCall
from shared.domain.changing import replace
from shared.domain.session import Session
from shared.domain.state import Action, Spent


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
    return Spent(
        spent.calls + len(calls),
        spent.prompt_tokens + sum(call.prompt_tokens for call in calls),
        spent.cached_tokens + sum(call.cached_tokens for call in calls),
        spent.completion_tokens + sum(call.completion_tokens for call in calls),
        spent.cost + sum(call.cost for call in calls),
    )


def _with_tokens(actions: tuple[Action, ...], calls: Sequence[ModelCall]) -> tuple[Action, ...]:
    tokens: dict[str, int] = {}
    for call in calls:
        tokens[call.action_id] = tokens.get(call.action_id, 0) + call.prompt_tokens + call.completion_tokens
    return tuple(replace(one, tokens=one.tokens + tokens.get(one.spec.id, 0)) for one in actions)
