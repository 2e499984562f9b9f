"""A service's FastStream broker with all its options, and the application that runs it.

    app = application("generator", settings)

    @app.broker.subscriber(durable="generator")
    async def generate(delivery: Delivery) -> None: ...

Only processes that consume import this module: FastStream takes a quarter of a second to load.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from types import TracebackType
from typing import Any, cast

from faststream import FastStream
from faststream._internal.broker.registrator import Registrator
from faststream._internal.endpoint.subscriber import SubscriberUsecase
from faststream.nats import NatsBroker
from faststream.nats.configs import NatsBrokerConfig
from faststream.security import SASLPlaintext
from nats.aio.msg import Msg

from shared.bus.bus import Bus
from shared.bus.connection import address, options, retry_until_connected
from shared.bus.deliveries import ignore_errors
from shared.bus.middleware import Attempts, MiddlewareFactory
from shared.bus.subscribers import DurableSubscriber, RequestSubscriber
from shared.bus.topology import durable_named
from shared.bus.users import inbox
from shared.settings import Settings


class Broker(NatsBroker):
    """A NatsBroker with its own connection, which buffers acknowledgements while it is disconnected.

    Queries about consumers, attempts and replies to requests go over the connection of `bus`.
    """

    def __init__(self, settings: Settings, name: str, bus: Bus) -> None:
        server = address(settings)
        self._name = f"{name}-consumers"
        self._settings = settings
        self._bus = bus
        connection = options(self._name)
        self._default_reconnected = connection["reconnected_cb"]
        super().__init__(
            server.servers,
            inbox_prefix=inbox(server.user),
            security=SASLPlaintext(server.user, server.password) if server.user else None,
            logger=None,  # a line for each message costs more than many handlers
            apply_types=False,  # handlers need no injected parameters
            graceful_timeout=None,  # durable subscribers stop within `settings.graceful_timeout`
            middlewares=[MiddlewareFactory(settings, lambda: Attempts(bus.client))],
            **connection | {"reconnected_cb": self._reconnected},
        )

    def subscriber(  # type: ignore[override]  # noqa: PLR0913  two kinds besides FastStream's own
        self,
        subject: str = "",
        queue: str = "",
        *,
        durable: str = "",
        limit: int | None = None,
        request: type[Any] | None = None,
        answer: type[Any] | None = None,
        **more: Any,
    ) -> SubscriberUsecase[Any]:
        """Declare a subscriber.

        With `durable`, its handler gets the deliveries of this provisioned consumer, up to `limit` at once (default:
        `settings.worker_concurrency`). With `answer`, its handler gets each request's subject and body, and returns the
        reply; `request` and `answer` are also the types in the AsyncAPI document. With neither `durable` nor `answer`,
        it is FastStream's own subscriber.
        """
        if answer:
            return self._register(
                RequestSubscriber(
                    cast("NatsBrokerConfig", self.config),
                    subject,
                    queue=queue,
                    request=request,
                    answer=answer,
                    bus=self._bus,
                )
            )
        if not durable:
            plain: SubscriberUsecase[Any] = super().subscriber(subject, queue, **more)
            return plain
        return self._register(
            DurableSubscriber(
                cast("NatsBrokerConfig", self.config),
                durable_named(durable),
                limit=limit or self._settings.worker_concurrency,
                grace=self._settings.graceful_timeout,
                client=lambda: self._bus.client,
            )
        )

    def _register[S: SubscriberUsecase[Msg]](self, subscriber: S) -> S:
        """Register a subscriber, as NatsBroker.subscriber does."""
        Registrator.subscriber(self, subscriber)
        return subscriber

    async def start(self) -> None:
        """Wait until the bus and its log can be read, then start all subscribers concurrently.

        A subscriber that waits for its consumer delays no other. Raises WrongFormat for a log of another format.
        """
        await self._bus.wait_until_readable()
        await retry_until_connected(self._name, self.connect)
        await asyncio.gather(*(subscriber.start() for subscriber in self.subscribers))
        self.running = True

    async def _reconnected(self) -> None:
        await self._default_reconnected()
        for subscriber in self._durable:
            subscriber.reconnected()

    @property
    def _durable(self) -> list[DurableSubscriber]:
        return [subscriber for subscriber in self.subscribers if isinstance(subscriber, DurableSubscriber)]

    async def stop(
        self,
        exc_type: type[BaseException] | None = None,
        exc_val: BaseException | None = None,
        exc_tb: TracebackType | None = None,
    ) -> None:
        """Stop the durable subscribers, with a grace period for running handlers; then stop the others."""
        await asyncio.gather(*(ignore_errors(subscriber.stop()) for subscriber in self._durable))
        await ignore_errors(super().stop(exc_type, exc_val, exc_tb))


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
