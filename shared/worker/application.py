"""The application of a worker service (planner, executor, verifier, generator), without its handler."""

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from pydantic import BaseModel

from parley.events.values import Service
from shared.bus import Bus, Delivery
from shared.bus.broker import Application
from shared.llm import Model, ModelRequest
from shared.llm.types import IMPORT_LOCK
from shared.services import MESSAGES, PING, SERVICES, STOPS
from shared.settings import Settings
from shared.store import PlanStoreClient, StoreReader
from shared.worker.context import Handler, WorkerDeps
from shared.worker.drafts import Drafts
from shared.worker.worker import Worker

if TYPE_CHECKING:
    from shared.llm.client import OpenAIModel

WARM_UP_AFTER = 4.0  # seconds: on a small machine the other services are still starting


class LazyModel:
    """A Model whose first call waits for the client's import."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._client: asyncio.Task[OpenAIModel] | None = None

    def load(self) -> "asyncio.Task[OpenAIModel]":
        """Start the import, once."""
        if self._client is None:
            self._client = asyncio.create_task(asyncio.to_thread(_import_client, self._settings))
        return self._client

    async def ask[R: BaseModel](self, request: ModelRequest[R]) -> R:
        """See `shared.llm.Model.ask`."""
        client = await asyncio.shield(self.load())
        return await client.ask(request)

    async def aclose(self) -> None:
        if self._client:
            await (await self._client).aclose()


def _import_client(settings: Settings) -> "OpenAIModel":
    with IMPORT_LOCK:
        from shared.llm.client import OpenAIModel  # noqa: PLC0415  deferred on purpose

    return OpenAIModel(settings)


class WorkerOverrides(NamedTuple):
    """Dependencies that replace those the application would create, for tests and benchmarks."""

    bus: Bus | None = None
    store: StoreReader | None = None
    model: Model | None = None


class ServiceContext(NamedTuple):
    """What a service's handler may need besides the WorkContext."""

    settings: Settings
    bus: Bus
    store: StoreReader


class WorkerApplication(Application):
    """Answers pings and draft requests, and cancels stopped and overtaken work. The service declares its consumers."""

    def __init__(self, service: Service, settings: Settings, overrides: WorkerOverrides) -> None:
        super().__init__(service, settings, overrides.bus or Bus(settings, service))
        self._service: Service = service
        self._store = overrides.store or PlanStoreClient(self.bus)
        self._model = overrides.model or self._lazy_model()
        self._drafts = Drafts(self.bus)
        self._worker: Worker | None = None
        self.broker.answer(f"{PING}.{service}")(_pong)
        self.broker.answer("draft.get.*")(self._drafts.current)
        self.on_startup(self._follow_feed)

    @property
    def service_context(self) -> ServiceContext:
        return ServiceContext(self.settings, self.bus, self._store)

    async def work(self, delivery: Delivery, handler: Handler) -> None:
        """Load the session and, if this service's work is due, run the handler and record its outcome.

        An application has one handler: that of the first call.
        """
        if self._worker is None:
            deps = WorkerDeps(self._service, self._store, self.bus.log, self._model, self._drafts, self.settings)
            self._worker = Worker(deps, handler)
        await self._worker.on_delivery(delivery)

    async def _follow_feed(self) -> None:
        followers = {STOPS: self._stopped, MESSAGES: self._message_received}
        for subject in followers.keys() & SERVICES[self._service].subscribes:
            await self.bus.subscribe(subject, followers[subject])

    async def _stopped(self, subject: str, data: bytes) -> None:
        if self._worker:
            await self._worker.on_stopped(subject, data)

    async def _message_received(self, subject: str, data: bytes) -> None:
        if self._worker:
            await self._worker.on_message(subject, data)

    def _lazy_model(self) -> LazyModel:
        model = LazyModel(self.settings)

        async def warm_up() -> None:
            asyncio.get_running_loop().call_later(WARM_UP_AFTER, model.load)

        self.after_startup(warm_up)
        self.after_shutdown(model.aclose)
        return model


async def _pong(_: str, __: bytes) -> bytes:
    return b"ok"


def worker_application(
    service: Service, settings: Settings, overrides: WorkerOverrides | None = None
) -> WorkerApplication:
    """A new application of this worker."""
    return WorkerApplication(service, settings, overrides or WorkerOverrides())
