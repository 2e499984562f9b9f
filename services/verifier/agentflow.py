"""The workflow `agentflow`: judge a turn and each of its sub-goals, by rules where they suffice."""

from collections.abc import Collection

from parley.events.values import SubGoalVerdict
from services.verifier.agentflow_prompt import TurnVerdictReply, build_turn_prompt, render_partial_verdict
from services.verifier.rules import rule_verdict
from shared.domain import commands as c
from shared.domain.fast_replace import replace
from shared.domain.state import Turn
from shared.domain.sub_goals import actions_by_sub_goal
from shared.worker import WorkContext

RECHECKED_RULES = ("reads-answered", "change-shown")  # a thorough session also asks a model about these
NOT_JUDGED = "Its calls ended well. Whether they did what was wanted has not been judged."


async def judge(context: WorkContext, turn: Turn) -> c.VerifyTurn:
    """The turn's verdict, with one for each sub-goal if the turn has several."""
    return with_sub_goals(turn, await _judge(context, turn))


async def _judge(context: WorkContext, turn: Turn) -> c.VerifyTurn:
    """The verdict of a rule if one applies; otherwise the model's, unless the session economises on model calls."""
    quality = context.session.settings.quality
    rule_based = rule_verdict(turn)
    if rule_based and (quality != "thorough" or rule_based.rule not in RECHECKED_RULES):
        return rule_based
    if quality == "economy":
        why = "No rule covers this outcome, and this session asks no model."
        return c.VerifyTurn(status="partial", next_action="continue", reasoning=why, rule="not-judged")
    messages = build_turn_prompt(context.prompt_session, turn)
    reply = await context.ask(messages, TurnVerdictReply, kind="verdict", render=render_partial_verdict)
    sub_goals = tuple(
        SubGoalVerdict(**sub_goal.model_dump()) for sub_goal in reply.reply.sub_goals if sub_goal.sub_goal.strip()
    )
    return c.VerifyTurn(**reply.reply.model_dump(exclude={"kind", "sub_goals"}), sub_goals=sub_goals)


def with_sub_goals(turn: Turn, verdict: c.VerifyTurn) -> c.VerifyTurn:
    """The verdict with one for each sub-goal if the turn has several; with none if it has one.

    A model's verdict on a sub-goal stands. The rules judge the others, each by its own actions.
    """
    by_sub_goal = {_key(sub_goal_verdict.sub_goal): sub_goal_verdict for sub_goal_verdict in verdict.sub_goals}
    sub_goals = actions_by_sub_goal(turn)
    if len(sub_goals) == 1:
        return verdict.model_copy(update={"sub_goals": ()})
    verdicts = (
        _renamed(by_sub_goal.get(_key(goal)), goal) or _judge_sub_goal(turn, goal, ids, verdict)
        for goal, ids in sub_goals.items()
    )
    return verdict.model_copy(update={"sub_goals": tuple(verdicts)})


def _renamed(verdict: SubGoalVerdict | None, sub_goal: str) -> SubGoalVerdict | None:
    """The model's verdict under the turn's wording of the sub-goal."""
    return verdict.model_copy(update={"sub_goal": sub_goal}) if verdict else None


def _judge_sub_goal(turn: Turn, sub_goal: str, ids: Collection[str], verdict: c.VerifyTurn) -> SubGoalVerdict:
    """The verdict of a rule if one applies, otherwise the model's verdict on the turn.

    If no model judged the turn, the sub-goal does not count as reached.
    """
    actions = tuple(action for action in turn.actions if action.spec.id in ids)
    if ruled := rule_verdict(replace(turn, actions=actions)):
        return SubGoalVerdict(sub_goal=sub_goal, status=ruled.status, reasoning=ruled.reasoning)
    if verdict.rule:
        return SubGoalVerdict(sub_goal=sub_goal, status="partial", reasoning=NOT_JUDGED)
    return SubGoalVerdict(sub_goal=sub_goal, status=verdict.status, reasoning=verdict.reasoning[:5_000])


def _key(sub_goal: str) -> str:
    return " ".join(sub_goal.casefold().split())
