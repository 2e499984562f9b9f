"""The verifier's handler: check the code, or judge the turn as its workflow does."""

from collections.abc import Awaitable, Callable

from services.verifier import agentflow, conversation, execution_plan, flow
from services.verifier.analysis import with_analyses
from shared.domain import commands as c
from shared.domain.state import Turn
from shared.worker import WorkContext

JUDGES: dict[str, Callable[[WorkContext, Turn], Awaitable[c.VerifyTurn]]] = {
    "conversation": conversation.judge,
    "agentflow": agentflow.judge,
    "flow": flow.judge,
    "execution_plan": execution_plan.judge,
}


async def verify(context: WorkContext) -> c.VerifyCode | c.VerifyTurn:
    turn = context.session.turn
    if turn is None:
        return await conversation.check(context, context.session)
    verdict = await JUDGES.get(turn.workflow, agentflow.judge)(context, turn)
    return with_analyses(context.session, turn, verdict)
