"""The workflow `agentflow`: judge a turn, by rules where they suffice."""

from parley.events.values import SubGoalVerdict
from services.verifier.agentflow_prompt import TurnVerdictReply, build_turn_prompt, render_partial_verdict
from services.verifier.rules import rule_verdict
from services.verifier.sub_goal_verdicts import with_sub_goals
from shared.domain import commands as c
from shared.domain.state import Turn
from shared.worker import WorkContext

RECHECKED_RULES = ("reads-answered", "change-shown")  # a thorough session also asks a model about these


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
