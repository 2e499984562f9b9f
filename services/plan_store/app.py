"""plan_store's application: `python -m services.plan_store.app`."""

import asyncio
import sys
from collections.abc import Coroutine
from functools import partial
from typing import Any

import structlog

from services.plan_store.database import ProjectionDatabase
from services.plan_store.handlers import RequestHandlers, project, run_when_available
from services.plan_store.operations.health import DatabaseAheadOfLog, StoreHealth, check_database_not_ahead, run_counts
from services.plan_store.projection import unprojected
from services.plan_store.projection.projector import Projector
from services.plan_store.projection.writer import MAX_BATCH
from services.plan_store.scheduler.clock import BrokerClock, repeat
from services.plan_store.scheduler.scheduler import Scheduler
from services.plan_store.scheduler.template_runner import INTERVAL, TemplateRunner
from services.plan_store.scheduler.templates import TemplateStore
from shared.bus import Bus, Delivery, Subscription
from shared.bus.broker import Application
from shared.settings import Settings
from shared.store_api import HEALTH, QUEUE, VERBS
from shared.worker.run import serve

log = structlog.get_logger("plan_store")
TIMERS_AT_ONCE = 50  # a polling request can take most of a minute and must not delay other timers


class PlanStore(Application):
    """Projects the log into an SQL database, and answers queries from that.

    Its start waits for the database and NATS without a limit.
    """

    def __init__(self, settings: Settings) -> None:
        bus = Bus(settings, "plan_store")
        super().__init__("plan_store", settings, bus)
        self.database = ProjectionDatabase(settings.sql_url)
        self._clock = BrokerClock()
        self._projector = Projector(bus.log, self.database)
        self._health = StoreHealth(bus, bus.log, self.database, self._clock, lambda: self._projector.write_problem)
        self._templates = TemplateStore(bus.library, self.database)
        now = self._clock.now
        self._scheduler = Scheduler(
            bus, bus.log, self.database, self._projector, stuck_work_timeout=settings.stuck_work_timeout, now=now
        )
        self._projector.on_projected = self._scheduler.session_projected
        self._template_runner = TemplateRunner(bus, bus.log, self.database, self._projector, self._templates, now=now)
        self._is_started = False
        self._early_health: Subscription | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._declare()
        self.on_startup(self._prepare_database)
        self.after_startup(self._start_tasks)
        self.on_shutdown(self._stop_tasks)
        self.after_shutdown(self.database.close)

    @property
    def ready(self) -> bool:
        return self._is_started and self.bus.ready

    def _declare(self) -> None:
        """Declare a subscriber for each durable consumer, and for each request of shared/store_api."""

        @self.broker.subscriber(durable="plan_store", limit=MAX_BATCH)
        async def project_event(delivery: Delivery) -> None:
            """Bring the rows of the message's session up to date."""
            await project(self._projector, delivery)

        @self.broker.subscriber(durable="dead_letters")
        async def keep_dead_letter(delivery: Delivery) -> None:
            """Record a message that a consumer gave up, and fail the work that it began."""
            await run_when_available(partial(self._scheduler.dead_letter, delivery))

        @self.broker.subscriber(durable="timers", limit=TIMERS_AT_ONCE)
        async def expire(delivery: Delivery) -> None:
            """End approvals and waits whose time has come."""
            self._clock.observe_past(delivery.at)
            await run_when_available(partial(self._scheduler.timer_fired, delivery))

        requests = RequestHandlers(
            self.bus.log,
            self.database,
            self._projector,
            lambda: self.bus.max_payload,
            templates=self._templates,
            health=self._health.report,
        )
        responders = requests.responders()
        self._answer_health = partial(self.bus.answer, HEALTH.subject, responders[HEALTH.subject], queue=QUEUE)
        for verb in VERBS:
            self.broker.answer(verb.subject, queue=QUEUE)(responders[verb.subject])

    async def _prepare_database(self) -> None:
        """Migrate the database, and compare it with the log. Raises DatabaseAheadOfLog.

        From here on `health` is answered, so that the other programs can say why nothing else is.
        """
        self._early_health = await self._answer_health()
        await run_when_available(self.database.migrate)
        log.info("migrated", database=self.database.display_url)
        await run_when_available(partial(check_database_not_ahead, self.database, self.bus.log))

    async def _start_tasks(self) -> None:
        await self._end_early_health()
        self._is_started = True
        self._run_in_background("fill", run_when_available(partial(self._health.fill_empty_database, self.settings)))
        self._run_in_background("counts", run_counts(self.database))
        self._run_in_background("upgrades", run_when_available(self._project_waiting_sessions))
        self._run_in_background("templates", repeat("schedules", self._template_runner.begin_due, seconds=INTERVAL))
        self._run_in_background("sweeps", self._scheduler.run_sweeps(self._health.check))

    def _run_in_background(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(_log_failure)
        self._tasks.append(task)

    async def _end_early_health(self) -> None:
        """Stop the first subscriber of `health`, once the broker's own one answers."""
        if self._early_health:
            await self._early_health.stop()
            self._early_health = None

    async def _project_waiting_sessions(self) -> None:
        """Record the sessions that need a newer release; project the recorded ones that this release can fold."""
        await unprojected.find_waiting(self.database)
        await self._scheduler.project_waiting()

    async def _stop_tasks(self) -> None:
        self._is_started = False
        await self._end_early_health()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks.clear()  # the traceback of a cancelled query keeps its connection to SQLite open


def _log_failure(task: asyncio.Task[None]) -> None:
    """Nobody awaits a background task before the shutdown, so its error would never be seen."""
    if not task.cancelled() and (error := task.exception()):
        log.error("background_task_failed", task=task.get_name(), exc_info=error)


def main() -> None:
    sys.setswitchinterval(0.0005)  # seconds: the thread that writes to SQLite must not delay answers
    try:
        serve(build(Settings()))
    except DatabaseAheadOfLog as error:
        log.critical("database_ahead", hint=str(error))
        sys.exit(1)


def build(settings: Settings) -> PlanStore:
    return PlanStore(settings)


if __name__ == "__main__":
    main()
