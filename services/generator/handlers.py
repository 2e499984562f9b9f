"""The generator's handler: write the program, or the answer, as the workflow does."""

from collections.abc import Awaitable, Callable

from services.generator import agentflow, execution_plan, flow
from services.generator.conversation import write_code
from shared.domain import commands as c
from shared.domain.workflows import workflow_of_work
from shared.llm.dialogue import agreement_reply
from shared.worker import WorkContext

ANSWERS: dict[str, Callable[[WorkContext], Awaitable[c.GiveAnswer]]] = {
    "flow": flow.write,
    "execution_plan": execution_plan.write,
}


async def write(context: WorkContext, rules_of: agentflow.RulesOf) -> c.DraftCode | c.GiveAnswer | c.NoDraft:
    if reply := agreement_reply(context.session):
        return reply
    if context.session.phase == "coding" or context.answers_message:
        return await write_code(context)
    answer = ANSWERS.get(workflow_of_work(context.session).name)
    return await (answer(context) if answer else agentflow.write(context, rules_of))
