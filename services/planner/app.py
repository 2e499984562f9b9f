"""The planner's application: `python -m services.planner.app`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from services.planner.examples import SimilarExamples
from services.planner.executor_client import FlowClient, ToolClient
from services.planner.flow import PathPlanner
from services.planner.handlers import Planner
from services.planner.path_cache import PathCache
from services.planner.plan_generators import PlanGenerators
from services.planner.recall import recall
from shared.bus import Delivery
from shared.llm.embeddings import Embeddings
from shared.services import JUDGEMENTS
from shared.settings import Settings
from shared.worker import Handler, ServiceContext, WorkerApplication, WorkerOverrides, serve, worker_application


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
