"""The planner's application: `python -m services.planner.app`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from services.planner.catalogue import Catalogue
from services.planner.examples import accepted
from services.planner.flow import PathPlanner
from services.planner.flows import KnownFlows
from services.planner.handlers import Planner
from services.planner.path_cache import Paths
from services.planner.plan_generators import PlanGenerators
from services.planner.recall import recall
from shared.bus import Delivery
from shared.llm.embeddings import Embeddings
from shared.settings import Settings
from shared.worker import Handler, Parts, ServiceContext, WorkerApplication, serve, worker_application


@asynccontextmanager
async def planning(here: ServiceContext) -> AsyncIterator[Handler]:
    """The planner's handler: it asks the executor for tools and the plan store for memories."""
    embeddings = Embeddings(here.settings)
    try:
        examples = partial(accepted, here.store)
        paths = PathPlanner(KnownFlows(here.bus), examples, Paths(here.settings.path_cache_size))
        tools, steps = Catalogue(here.bus, calls_only=True), Catalogue(here.bus)
        generators = PlanGenerators(here.settings.parley_plan_generators, steps.all)
        draft = partial(generators.draft, tools=steps, examples=examples)
        yield Planner(tools, partial(recall, here.store, embeddings), paths, examples, draft).plan
    finally:
        await embeddings.aclose()


def build(settings: Settings, parts: Parts | None = None) -> WorkerApplication:
    app = worker_application("planner", settings, parts)
    handler = app.opened(lambda: planning(app.here))

    @app.broker.subscriber(durable="planner")
    async def plan(delivery: Delivery) -> None:
        """Make the plan, the turn or the path that is due, or ask."""
        await app.work(delivery, handler())

    return app


if __name__ == "__main__":
    serve(build(Settings()))
