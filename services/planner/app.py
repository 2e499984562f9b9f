"""Run the planner: `python -m services.planner.app`."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from services.planner.catalogue import Catalogue
from services.planner.handlers import Planner
from shared.domain.session import Session
from shared.events.values import Recalled
from shared.worker import Handler, Here, run_worker


@asynccontextmanager
async def planning(here: Here) -> AsyncIterator[Handler]:
    async def recall(session: Session) -> tuple[Recalled, ...]:
        return ()

    yield Planner(Catalogue(here.bus), recall).plan


if __name__ == "__main__":
    run_worker("planner", planning)
