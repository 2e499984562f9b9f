"""Act with tools: judge a turn, by rules where they are certain."""

from parley.events.values import SubGoalVerdict
from services.verifier.agentflow_prompt import TurnVerdictReply, turn_brief, verdict_shown
from services.verifier.rules import certain
from services.verifier.sub_goal_verdicts import with_sub_goals
from shared.domain import commands as c
from shared.domain.state import Turn
from shared.worker import WorkContext

LOOK_AGAIN = ("reads-answered", "change-shown")  # what a thorough session has a model judge besides


async def judge(context: WorkContext, turn: Turn) -> c.VerifyTurn:
    """The turn's verdict, with one on each of its sub-goals if it has several."""
    return with_sub_goals(turn, await _judge(context, turn))


async def _judge(context: WorkContext, turn: Turn) -> c.VerifyTurn:
    """By rules where they are certain; else by a model, unless the session saves its calls."""
    quality = context.session.settings.quality
    ruled = certain(turn)
    if ruled and (quality != "thorough" or ruled.rule not in LOOK_AGAIN):
        return ruled
    if quality == "economy":
        why = "No rule is certain of this outcome, and no model is asked for it."
        return c.VerifyTurn(status="partial", next_action="continue", reasoning=why, rule="not-judged")
    brief = turn_brief(context.session, turn)
    reply = await context.ask(brief, TurnVerdictReply, kind="verdict", render=verdict_shown)
    sub_goals = tuple(SubGoalVerdict(**one.model_dump()) for one in reply.reply.sub_goals if one.sub_goal.strip())
    return c.VerifyTurn(**reply.reply.model_dump(exclude={"kind", "sub_goals"}), sub_goals=sub_goals)
