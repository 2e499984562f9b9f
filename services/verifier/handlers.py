"""Verifier: check the code, or judge the turn as its workflow does."""

from collections.abc import Awaitable, Callable

from services.verifier import agentflow, conversation, execution_plan, flow
from services.verifier.analysis import analysed
from shared.domain import commands as c
from shared.domain.state import Turn
from shared.worker import Desk

JUDGES: dict[str, Callable[[Desk, Turn], Awaitable[c.VerifyTurn]]] = {
    "conversation": conversation.judge,
    "agentflow": agentflow.judge,
    "flow": flow.judge,
    "execution_plan": execution_plan.judge,
}


async def verify(desk: Desk) -> c.VerifyCode | c.VerifyTurn:
    turn = desk.session.turn
    if turn is None:
        return await conversation.check(desk, desk.session)
    verdict = await JUDGES.get(turn.workflow, agentflow.judge)(desk, turn)
    return analysed(desk.session, turn, verdict)
