"""Wiring of plan_store: `python -m services.plan_store.app`."""

import asyncio
import signal
from functools import cached_property, partial

import structlog

from services.plan_store.database import Database
from services.plan_store.handlers import Requests, project
from services.plan_store.keeper import Keeper
from services.plan_store.patience import patiently
from services.plan_store.projection import Projector
from shared.bus import Bus, Delivery
from shared.logging import configure_logging
from shared.settings import Settings
from shared.store_api import QUEUE

log = structlog.get_logger("plan_store")


class PlanStore:
    """The service in one process. What needs the log is made when the bus has connected."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.bus = Bus(settings, "plan_store")
        self.database = Database(settings.sql_url)
        self._sweeping: asyncio.Task[None] | None = None

    @cached_property
    def projector(self) -> Projector:
        return Projector(self.bus.log, self.database, on_moved=lambda before, after: self.keeper.moved(before, after))

    @cached_property
    def keeper(self) -> Keeper:
        return Keeper(self.bus, self.bus.log, self.database, self.projector, stuck_after=self._settings.stuck_after)

    async def start(self) -> None:
        """Migrate, consume, answer. Waits for the database and NATS for as long as it takes."""
        await patiently(self.database.migrate)
        self.bus.consume("plan_store", self._project)
        self.bus.consume("keeper", self._dead_letter, stream="DEAD")
        self.bus.consume("timers", self._expired, stream="TIMERS")
        await self.bus.start()
        requests = Requests(self.bus.log, self.database, self.projector)
        for subject, respond in requests.responders().items():
            await self.bus.answer(subject, respond, queue=QUEUE)
        self._sweeping = asyncio.create_task(self.keeper.keep_sweeping())

    async def stop(self) -> None:
        if self._sweeping:
            self._sweeping.cancel()
            await asyncio.gather(self._sweeping, return_exceptions=True)
        await self.bus.stop()
        await self.database.close()

    async def _project(self, delivery: Delivery) -> None:
        await project(self.projector, delivery)

    async def _dead_letter(self, delivery: Delivery) -> None:
        await patiently(partial(self.keeper.dead_letter, delivery))

    async def _expired(self, delivery: Delivery) -> None:
        await patiently(partial(self.keeper.expired, delivery))


async def serve(settings: Settings) -> None:
    """Run until SIGTERM or SIGINT."""
    leave = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, leave.set)
    service = PlanStore(settings)
    starting = asyncio.create_task(service.start())
    leaving = asyncio.create_task(leave.wait())
    await asyncio.wait((starting, leaving), return_when=asyncio.FIRST_COMPLETED)
    if starting.done():
        await starting
        log.info("ready", database=service.database.shown)
        await leaving
    starting.cancel()
    await asyncio.gather(starting, return_exceptions=True)
    await service.stop()


def main() -> None:
    settings = Settings()
    configure_logging("plan_store", settings.log_level)
    asyncio.run(serve(settings))


if __name__ == "__main__":
    main()
