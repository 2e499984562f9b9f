"""The sub-goals of a turn: its own, or those that its actions name."""

from collections.abc import Iterable

from parley.events.values import ActionSpec
from shared.domain.kernel.state import Turn

TURN_SUB_GOALS = 4  # at most, per turn


def sub_goals_of(sub_goal: str, actions: Iterable[ActionSpec]) -> tuple[str, ...]:
    """The distinct sub-goals of a turn's actions. Actions that name none belong to `sub_goal`."""
    return tuple(dict.fromkeys(spec.sub_goal or sub_goal for spec in actions))


def actions_by_sub_goal(turn: Turn) -> dict[str, tuple[str, ...]]:
    """The turn's sub-goals in order, each with the ids of its actions; only its own if it has no actions."""
    by_goal: dict[str, tuple[str, ...]] = {}
    for action in turn.actions:
        goal = action.spec.sub_goal or turn.sub_goal
        by_goal[goal] = (*by_goal.get(goal, ()), action.spec.id)
    return by_goal or {turn.sub_goal: ()}
