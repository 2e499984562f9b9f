"""The planner's application: `python -m services.planner.app`."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial

from services.planner.agentflow import Recall, plan_turn
from services.planner.conversation import draft_plan
from services.planner.execution_plan import draft_steps
from services.planner.flow import PathCache, PathPlanner
from services.planner.plan_generators import PlanGenerators
from services.planner.recall import Examples, SimilarExamples, recall
from services.planner.tools import FlowClient, ToolClient, ToolLookup
from shared.bus import Delivery
from shared.domain.kernel import commands as c
from shared.domain.kernel import wording
from shared.domain.kernel.session import Session
from shared.domain.plan.approval import starts_by_setting
from shared.domain.rules.worker_commands import WorkerCommand
from shared.llm.dialogue import agreement_reply
from shared.llm.embeddings import Embeddings
from shared.services import JUDGEMENTS
from shared.settings import Settings
from shared.worker import (
    Handler,
    ServiceContext,
    WorkContext,
    WorkerApplication,
    WorkerOverrides,
    serve,
    worker_application,
)

PLANS_TURNS = ("agentflow", "flow")  # workflows in which turn after turn is planned
type PlanHandler = Callable[[WorkContext], Awaitable[WorkerCommand]]


class Planner:
    """Dispatches planning work by workflow.

    `examples` finds what the user accepted before. `draft` drafts execution plans.
    """

    def __init__(
        self,
        tools: ToolLookup,
        recall: Recall,
        paths: PathPlanner,
        examples: Examples,
        draft: PlanHandler | None = None,
    ) -> None:
        self._by_workflow: dict[str, PlanHandler] = {
            "conversation": lambda context: draft_plan(context, examples),
            "agentflow": lambda context: plan_turn(context, tools, recall, examples),
            "flow": paths.plan,
            "execution_plan": draft or (lambda context: draft_steps(context, tools, examples)),
        }

    async def plan(self, context: WorkContext) -> WorkerCommand:
        if starts_by_setting(context.session):
            return c.BeginPlan()
        if reply := agreement_reply(context.session):
            return reply
        workflow = context.session.workflow
        if workflow in PLANS_TURNS and not context.answers_message and (asks := _ask_to_go_on(context.session)):
            return asks
        if handler := self._by_workflow.get(workflow):
            return await handler(context)
        known = ", ".join(self._by_workflow)
        reason = f"There is no workflow “{workflow}”: begin again with one of {known}."
        return c.Fail(reason=reason, retryable=False)


def _ask_to_go_on(session: Session) -> c.Ask | None:
    """The question once as many turns as the settings allow were taken since the person's last word; None before."""
    taken = session.counts.turns - session.counts.turns_before_words
    if taken < session.settings.max_turns:
        return None
    left = [sub_goal.goal for sub_goal in session.memory.sub_goals if sub_goal.status == "pending"]
    return c.Ask(about="turns", text=wording.turns_taken(taken, left))


@asynccontextmanager
async def open_planner(context: ServiceContext) -> AsyncIterator[Handler]:
    """The planner's handler, with clients of the executor (tools, flows) and the plan store (memories, examples)."""
    embeddings = Embeddings(context.settings)
    try:
        library = SimilarExamples(context.store)
        await context.bus.subscribe(JUDGEMENTS, library.on_judged)
        examples = library.find
        paths = PathPlanner(FlowClient(context.bus), examples, PathCache(context.settings.path_cache_size))
        tools, steps = ToolClient(context.bus, calls_only=True), ToolClient(context.bus)
        generators = PlanGenerators(context.settings.parley_plan_generators, steps.all)
        draft = partial(generators.draft, tools=steps, examples=examples)
        yield Planner(tools, partial(recall, context.store, embeddings), paths, examples, draft).plan
    finally:
        await embeddings.aclose()


def build(settings: Settings, parts: WorkerOverrides | None = None) -> WorkerApplication:
    app = worker_application("planner", settings, parts)
    handler = app.resource(lambda: open_planner(app.service_context))

    @app.broker.subscriber(durable="planner")
    async def plan(delivery: Delivery) -> None:
        """Make the plan, the turn or the path that is due, or ask a question."""
        await app.work(delivery, handler())

    return app


if __name__ == "__main__":
    serve(build(Settings()))
