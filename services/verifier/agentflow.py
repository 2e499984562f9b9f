"""Act with tools: judge a turn, by rules where they are certain."""

from services.verifier.agentflow_prompt import TurnVerdictReply, turn_brief, verdict_shown
from services.verifier.rules import certain
from shared.domain import commands as c
from shared.domain.state import Turn
from shared.worker import Desk

LOOK_AGAIN = ("reads-answered", "change-shown")  # what a thorough session has a model judge besides


async def judge(desk: Desk, turn: Turn) -> c.VerifyTurn:
    """By rules where they are certain; else by a model, unless the session saves its calls."""
    quality = desk.session.settings.quality
    ruled = certain(turn)
    if ruled and (quality != "thorough" or ruled.rule not in LOOK_AGAIN):
        return ruled
    if quality == "economy":
        why = "No rule is certain of this outcome, and no model is asked for it."
        return c.VerifyTurn(status="partial", next_action="continue", reasoning=why, rule="not-judged")
    brief = turn_brief(desk.session, turn)
    reply = await desk.ask(brief, TurnVerdictReply, kind="verdict", render=verdict_shown)
    return c.VerifyTurn(**reply.reply.model_dump(exclude={"kind"}))
