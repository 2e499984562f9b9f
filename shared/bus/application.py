"""A service as a FastStream application: its broker, and resources that open before the broker starts.

app = application("generator", settings)

@app.broker.subscriber(durable="generator")
async def generate(delivery: Delivery) -> None: ...
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack

from faststream import FastStream

from shared.bus.broker import Broker
from shared.bus.bus import Bus
from shared.settings import Settings


class Application(FastStream):
    """`start` waits for NATS. `stop` waits for running handlers. `shared/worker/run.py` runs it."""

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

    def resource[T](self, opening: Callable[[], AbstractAsyncContextManager[T]]) -> Callable[[], T]:
        """Open a resource before the subscribers start, and close it after they stop. Call the result to get it."""
        resources: list[T] = []

        async def enter() -> None:
            resources.append(await self._opened.enter_async_context(opening()))

        self.on_startup(enter)
        return lambda: resources[0]


def application(service: str, settings: Settings) -> Application:
    """A new application of this service, with its own bus."""
    return Application(service, settings, Bus(settings, service))
