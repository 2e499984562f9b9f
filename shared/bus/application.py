"""A service as a FastStream application: a broker that knows the provisioned consumers, and resources that are opened
before it starts.

    app = application("generator", settings)

    @app.broker.subscriber(durable="generator")
    async def generate(delivery: Delivery) -> None: ...
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from typing import Any

from faststream import FastStream
from faststream.specification import AsyncAPI, License

from shared.bus.broker import Broker
from shared.bus.bus import Bus
from shared.settings import Settings


class Application(FastStream):
    """`start` waits for NATS, and `stop` lets running handlers end: see shared/worker/run.py, which runs it."""

    def __init__(self, service: str, settings: Settings, bus: Bus) -> None:
        super().__init__(bus.broker, logger=None)
        self.service, self.settings, self.bus = service, settings, bus
        self._opened = AsyncExitStack()
        self.on_startup(bus.connect)
        self.after_shutdown(bus.stop)
        self.after_shutdown(self._opened.aclose)

    @property
    def broker(self) -> Broker:
        return self.bus.broker

    @property
    def ready(self) -> bool:
        return self.bus.ready

    def opened[T](self, opening: Callable[[], AbstractAsyncContextManager[T]]) -> Callable[[], T]:
        """Open this before the subscribers start, close it after they have stopped. The result gives what is open."""
        resources: list[T] = []

        async def enter() -> None:
            resources.append(await self._opened.enter_async_context(opening()))

        self.on_startup(enter)
        return lambda: resources[0]


def application(service: str, settings: Settings) -> Application:
    """The application of this service, with a bus of its own."""
    return Application(service, settings, Bus(settings, service))


def asyncapi_of(*apps: Application, title: str, version: str, description: str, licence: str) -> dict[str, Any]:
    """FastStream's AsyncAPI document of what these applications declare."""
    brokers = (app.broker for app in apps)
    document = AsyncAPI(*brokers, title=title, version=version, description=description, license=License(name=licence))
    return dict[str, Any](document.to_specification().to_jsonable())
