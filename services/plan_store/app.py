"""Wiring of plan_store: `python -m services.plan_store.app`."""

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
from services.plan_store.writing import AT_ONCE
from shared.bus import Bus, Delivery
from shared.settings import Settings
from shared.store_api import QUEUE
from shared.worker.health import health
from shared.worker.run import run, started

log = structlog.get_logger("plan_store")


class PlanStore:
    """The service, in one process."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._answers = False
        self._tasks: list[asyncio.Task[None]] = []
        self.bus = Bus(settings, "plan_store")
        self.database = Database(settings.sql_url)

    @property
    def ready(self) -> bool:
        return self._answers and self.bus.ready

    async def start(self) -> None:
        """Migrate, consume, answer. Waits for the database and NATS for as long as it takes."""
        await patiently(self.database.migrate)
        await self.bus.connect()
        await patiently(partial(check_behind, self.database, self.bus.log))
        projector = Projector(self.bus.log, self.database)
        keeper = Keeper(
            self.bus, self.bus.log, self.database, projector, stuck_work_timeout=self._settings.stuck_work_timeout
        )
        projector.on_moved = keeper.moved

        async def dead_letter(delivery: Delivery) -> None:
            await patiently(partial(keeper.dead_letter, delivery))

        async def expired(delivery: Delivery) -> None:
            await patiently(partial(keeper.expired, delivery))

        self.bus.broker.subscriber(durable="plan_store", limit=AT_ONCE)(partial(project, projector))
        self.bus.broker.subscriber(durable="dead_letters")(dead_letter)
        self.bus.broker.subscriber(durable="timers")(expired)
        await self.bus.start()  # it refuses a log that this release cannot read: nothing is answered from such a one
        requests = Requests(self.bus.log, self.database, projector, lambda: self.bus.max_payload)
        for subject, respond in requests.responders().items():
            await self.bus.answer(subject, respond, queue=QUEUE)
        self._answers = True
        counting = asyncio.create_task(keep_counting(self.database, self.bus))
        taking_up = asyncio.create_task(patiently(keeper.take_up))
        self._tasks = [asyncio.create_task(keeper.keep_sweeping()), counting, taking_up]

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.bus.stop()
        await self.database.close()


def main() -> None:
    sys.setswitchinterval(0.0005)  # seconds: the thread that writes to SQLite shall not keep answers waiting
    settings = Settings()

    async def live(stop: asyncio.Event) -> None:
        service = PlanStore(settings)
        async with health(settings.health_port, lambda: service.ready):
            try:
                answers = await started(service.start(), stop)  # else it still waited for a database that is not there
            except DatabaseAhead as error:
                log.critical("database_ahead", hint=str(error))
                await service.stop()
                raise SystemExit(1) from error
            if answers:
                log.info("ready", database=service.database.shown)
                await stop.wait()
            await service.stop()

    run("plan_store", settings, live)


if __name__ == "__main__":
    main()
