"""The generator's application: `python -m services.generator.app`."""

from collections.abc import Awaitable, Callable
from functools import partial

from services.generator import agentflow, execution_plan, flow
from services.generator.agentflow import rules_of
from services.generator.conversation import write_code
from shared.bus import Delivery
from shared.domain.kernel import commands as c
from shared.domain.workflows import workflow_of_work
from shared.llm.dialogue import agreement_reply
from shared.settings import Settings
from shared.worker import WorkContext, WorkerApplication, WorkerOverrides, serve, worker_application

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


def build(settings: Settings, parts: WorkerOverrides | None = None) -> WorkerApplication:
    app = worker_application("generator", settings, parts)
    handler = partial(write, rules_of=partial(rules_of, app.bus))

    @app.broker.subscriber(durable="generator")
    async def generate(delivery: Delivery) -> None:
        """Write the program, or the answer, that is due."""
        await app.work(delivery, handler)

    return app


if __name__ == "__main__":
    serve(build(Settings()))
