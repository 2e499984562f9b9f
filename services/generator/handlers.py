"""Generator: write the program, or the answer, as the workflow does."""

from collections.abc import Awaitable, Callable

from services.generator import agentflow, execution_plan, flow
from services.generator.conversation import write_code
from shared.domain import commands as c
from shared.domain.workflows import of_work
from shared.worker import Desk

ANSWERS: dict[str, Callable[[Desk], Awaitable[c.GiveAnswer]]] = {
    "agentflow": agentflow.write,
    "flow": flow.write,
    "execution_plan": execution_plan.write,
}


async def write(desk: Desk) -> c.DraftCode | c.GiveAnswer | c.AnswerRemark | c.Ask:
    if desk.session.phase == "coding":
        return await write_code(desk)
    return await ANSWERS.get(of_work(desk.session).name, agentflow.write)(desk)
