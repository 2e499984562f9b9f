"""Run the planner: `python -m services.planner.app`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from services.planner.catalogue import Catalogue
from services.planner.flow import PathPlanner
from services.planner.flows import KnownFlows, accepted
from services.planner.handlers import Planner
from services.planner.paths import Paths
from services.planner.recall import recall
from shared.llm.embeddings import Embeddings
from shared.worker import Handler, Here, run_worker


@asynccontextmanager
async def planning(here: Here) -> AsyncIterator[Handler]:
    """The planner's handler: it asks the executor for tools and the plan store for memories."""
    embeddings = Embeddings(here.settings)
    try:
        paths = PathPlanner(KnownFlows(here.bus), partial(accepted, here.store), Paths(here.settings.path_cache_size))
        yield Planner(Catalogue(here.bus), partial(recall, here.store, embeddings), paths).plan
    finally:
        await embeddings.aclose()


if __name__ == "__main__":
    run_worker("planner", planning)
