"""plan_store's application: `python -m services.plan_store.app`."""

import asyncio
import sys
from functools import partial

import structlog

from services.plan_store.ahead import DatabaseAhead, check_behind
from services.plan_store.database import Database
from services.plan_store.figures import keep_counting
from services.plan_store.handlers import Requests, project
from services.plan_store.keeper import Keeper
from services.plan_store.patience import patiently
from services.plan_store.projection import Projector
from services.plan_store.schedules import Schedules
from services.plan_store.templates import Templates
from services.plan_store.writing import AT_ONCE
from shared.bus import Bus, Delivery
from shared.bus.application import Application
from shared.settings import Settings
from shared.store_api import QUEUE, VERBS
from shared.worker.run import serve

log = structlog.get_logger("plan_store")
TIMERS_AT_ONCE = 50  # a look of a step that polls can take most of a minute, and keeps no deadline waiting


class PlanStore(Application):
    """It projects the log into SQL, and answers from there. Waits for the database and NATS for as long as it takes."""

    def __init__(self, settings: Settings) -> None:
        bus = Bus(settings, "plan_store")
        super().__init__("plan_store", settings, bus)
        self.database = Database(settings.sql_url)
        self._projector = Projector(bus.log, self.database)
        self._templates = Templates(bus.library, self.database)
        self._keeper = Keeper(
            bus, bus.log, self.database, self._projector, stuck_work_timeout=settings.stuck_work_timeout
        )
        self._projector.on_moved = self._keeper.moved
        self._schedules = Schedules(bus, bus.log, self.database, self._projector, self._templates)
        self._answers = False
        self._tasks: list[asyncio.Task[None]] = []
        self._declare()
        self.on_startup(self._open)
        self.after_startup(self._begin)
        self.on_shutdown(self._end)
        self.after_shutdown(self.database.close)

    @property
    def ready(self) -> bool:
        return self._answers and self.bus.ready

    def _declare(self) -> None:
        """The subscribers: three durable consumers, and every request of shared/store_api."""

        @self.broker.subscriber(durable="plan_store", limit=AT_ONCE)
        async def project_event(delivery: Delivery) -> None:
            """Bring the rows of its session up to date."""
            await project(self._projector, delivery)

        @self.broker.subscriber(durable="dead_letters")
        async def keep_dead_letter(delivery: Delivery) -> None:
            """Record what a consumer gave up, and fail its session."""
            await patiently(partial(self._keeper.dead_letter, delivery))

        @self.broker.subscriber(durable="timers", limit=TIMERS_AT_ONCE)
        async def expire(delivery: Delivery) -> None:
            """End what waited for too long."""
            await patiently(partial(self._keeper.expired, delivery))

        requests = Requests(
            self.bus.log, self.database, self._projector, lambda: self.bus.max_payload, templates=self._templates
        )
        responders = requests.responders()
        for verb in VERBS:
            self.broker.subscriber(verb.subject, queue=QUEUE, request=verb.request, answer=verb.answer)(
                responders[verb.subject]
            )

    async def _open(self) -> None:
        """Raises DatabaseAhead."""
        await patiently(self.database.migrate)
        log.info("migrated", database=self.database.shown)
        await patiently(partial(check_behind, self.database, self.bus.log))

    async def _begin(self) -> None:
        self._answers = True
        counting = asyncio.create_task(keep_counting(self.database, self.bus))
        taking_up = asyncio.create_task(patiently(self._keeper.take_up))
        scheduling = asyncio.create_task(self._schedules.keep_looking())
        self._tasks = [asyncio.create_task(self._keeper.keep_sweeping()), counting, taking_up, scheduling]

    async def _end(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def main() -> None:
    sys.setswitchinterval(0.0005)  # seconds: the thread that writes to SQLite shall not keep answers waiting
    try:
        serve(PlanStore(Settings()))
    except DatabaseAhead as error:
        log.critical("database_ahead", hint=str(error))
        sys.exit(1)


if __name__ == "__main__":
    main()
