"""What the applications of planner, executor, verifier and generator have in common: everything but their handler."""

import asyncio
from typing import NamedTuple

from parley.events.values import Service
from parley.protocol.server import Delta
from shared.bus import Bus, Delivery
from shared.bus.application import Application
from shared.llm import Model
from shared.services import PING
from shared.settings import Settings
from shared.store import Asks, Store
from shared.worker.context import WorkerDeps
from shared.worker.draft import Drafts
from shared.worker.late import LateModel
from shared.worker.worker import Handler, Worker

WARM_UP_AFTER = 4.0  # seconds: on a small machine the other services are still starting


class Parts(NamedTuple):
    """What a worker is given instead of what it would make itself."""

    bus: Bus | None = None
    store: Asks | None = None
    model: Model | None = None


class ServiceContext(NamedTuple):
    """Where a service works: what its handler may need besides the desk."""

    settings: Settings
    bus: Bus
    store: Asks


class WorkerApplication(Application):
    """It answers pings and requests for drafts, and ends what is stopped. Its service declares what it works on."""

    def __init__(self, service: Service, settings: Settings, parts: Parts) -> None:
        super().__init__(service, settings, parts.bus or Bus(settings, service))
        self._service: Service = service
        self._store = parts.store or Store(self.bus)
        self._model = parts.model or self._late_model()
        self._drafts = Drafts(self.bus)
        self._worker: Worker | None = None
        self.broker.subscriber(f"{PING}.{service}", answer=bytes)(_pong)
        self.broker.subscriber("draft.get.{session_id}", answer=Delta)(self._drafts.so_far)
        self.on_startup(self._follow_stops)

    @property
    def here(self) -> ServiceContext:
        return ServiceContext(self.settings, self.bus, self._store)

    async def work(self, delivery: Delivery, handler: Handler) -> None:
        """Load the session and, if it is this service's turn, record what its handler makes of it.

        A worker has one handler: that of the first call.
        """
        if self._worker is None:
            kit = WorkerDeps(self._service, self._store, self.bus.log, self._model, self._drafts, self.settings)
            self._worker = Worker(kit, handler)
        await self._worker.on_delivery(delivery)

    async def _follow_stops(self) -> None:
        await self.bus.subscribe("feed.*.*.session.stopped", self._stopped)

    async def _stopped(self, subject: str, data: bytes) -> None:
        if self._worker:
            await self._worker.on_stopped(subject, data)

    def _late_model(self) -> LateModel:
        model = LateModel(self.settings)

        async def warm_up() -> None:
            asyncio.get_running_loop().call_later(WARM_UP_AFTER, model.load)

        self.after_startup(warm_up)
        self.after_shutdown(model.aclose)
        return model


async def _pong(_: str, __: bytes) -> bytes:
    return b"ok"


def worker_application(service: Service, settings: Settings, parts: Parts | None = None) -> WorkerApplication:
    """The application of this worker; `parts` for what a test or a measurement puts in place of its own."""
    return WorkerApplication(service, settings, parts or Parts())
