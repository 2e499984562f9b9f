"""A verdict on each sub-goal of a turn that works on several of them. Pure."""

from collections.abc import Collection

from parley.events.values import SubGoalVerdict
from services.verifier.rules import certain
from shared.domain import commands as c
from shared.domain.changing import replace
from shared.domain.state import Turn
from shared.domain.sub_goals import of_turn

NOT_JUDGED = "Its calls ended well. Whether they did what was wanted has not been judged."


def with_sub_goals(turn: Turn, verdict: c.VerifyTurn) -> c.VerifyTurn:
    """The verdict with one on each sub-goal, if the turn has several; without any if it has one.

    What a model said of a sub-goal stands. Any other is judged by the rules, from its own actions alone.
    """
    said = {_key(one.sub_goal): one for one in verdict.sub_goals}
    sub_goals = of_turn(turn)
    if len(sub_goals) == 1:
        return verdict.model_copy(update={"sub_goals": ()})
    each = (_named(said.get(_key(goal)), goal) or _ruled(turn, goal, ids, verdict) for goal, ids in sub_goals.items())
    return verdict.model_copy(update={"sub_goals": tuple(each)})


def _named(verdict: SubGoalVerdict | None, sub_goal: str) -> SubGoalVerdict | None:
    """The model's verdict under the name that the sub-goal has in the turn."""
    return verdict.model_copy(update={"sub_goal": sub_goal}) if verdict else None


def _ruled(turn: Turn, sub_goal: str, ids: Collection[str], verdict: c.VerifyTurn) -> SubGoalVerdict:
    """By a rule if one is certain, else as a model judged the turn. Without a model it is not taken as reached."""
    actions = tuple(action for action in turn.actions if action.spec.id in ids)
    if ruled := certain(replace(turn, actions=actions)):
        return SubGoalVerdict(sub_goal=sub_goal, status=ruled.status, reasoning=ruled.reasoning)
    if verdict.rule:
        return SubGoalVerdict(sub_goal=sub_goal, status="partial", reasoning=NOT_JUDGED)
    return SubGoalVerdict(sub_goal=sub_goal, status=verdict.status, reasoning=verdict.reasoning[:5_000])


def _key(sub_goal: str) -> str:
    return " ".join(sub_goal.casefold().split())
