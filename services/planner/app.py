"""Run the planner: `python -m services.planner.app`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from services.planner.catalogue import Catalogue
from services.planner.handlers import Planner
from services.planner.recall import recall
from shared.llm.embeddings import Embeddings
from shared.worker import Handler, Here, run_worker


@asynccontextmanager
async def planning(here: Here) -> AsyncIterator[Handler]:
    """The planner's handler: it asks the executor for tools and the plan store for memories."""
    embeddings = Embeddings(here.settings)
    try:
        yield Planner(Catalogue(here.bus), partial(recall, here.store, embeddings)).plan
    finally:
        await embeddings.aclose()


if __name__ == "__main__":
    run_worker("planner", planning)
