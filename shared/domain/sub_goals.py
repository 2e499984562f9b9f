"""What a turn is for: one sub-goal, or a few that its actions name."""

from collections.abc import Iterable

from parley.events.values import ActionSpec
from shared.domain.state import Turn

TURN_SUB_GOALS = 4  # that one turn works on


def sub_goals_of(sub_goal: str, actions: Iterable[ActionSpec]) -> tuple[str, ...]:
    """The sub-goals of a turn's actions, each once; `sub_goal` is that of actions that name none."""
    return tuple(dict.fromkeys(spec.sub_goal or sub_goal for spec in actions))


def of_turn(turn: Turn) -> dict[str, tuple[str, ...]]:
    """The turn's sub-goals in order, each with the ids of its actions; its own alone if it has no actions."""
    by_goal: dict[str, tuple[str, ...]] = {}
    for action in turn.actions:
        goal = action.spec.sub_goal or turn.sub_goal
        by_goal[goal] = (*by_goal.get(goal, ()), action.spec.id)
    return by_goal or {turn.sub_goal: ()}
