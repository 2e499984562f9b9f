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
from typing import NamedTuple

from faststream import AckPolicy, FastStream
from faststream.nats import JStream, NatsBroker, NatsMessage, PullSub
from faststream.nats.subscriber.usecases import PullStreamSubscriber
from faststream.security import SASLPlaintext

from shared.bus.bus import Bus
from shared.bus.connection import address, options, retry_until_connected
from shared.bus.deliveries import Delivery, delivery_of, ignore_errors
from shared.bus.middleware import Attempts, MiddlewareFactory
from shared.bus.requests import Responder
from shared.bus.subscribers import Pull
from shared.bus.topology import durable_named
from shared.bus.users import inbox
from shared.settings import Settings


class Answering(NamedTuple):
    """Requests that the process answers: their subject, and the queue of replicas that share them."""

    subject: str
    queue: str
    answer: Responder


class Broker(NatsBroker):
    """A NatsBroker with its own connection, which buffers acknowledgements while it is disconnected.

    Queries about consumers, attempts and answers to requests go over the connection of `bus`.
    """

    def __init__(self, settings: Settings, name: str, bus: Bus) -> None:
        server = address(settings)
        self._name = f"{name}-consumers"
        self._settings = settings
        self._bus = bus
        self._pulls: list[Pull] = []
        self.answering: list[Answering] = []
        connection = options(self._name)
        self._default_reconnected = connection["reconnected_cb"]
        super().__init__(
            server.servers,
            inbox_prefix=inbox(server.user),
            security=SASLPlaintext(server.user, server.password) if server.user else None,
            logger=None,  # its own writes two lines for each message, and none of them is JSON
            middlewares=[MiddlewareFactory(settings, lambda: Attempts(bus.client))],
            **connection | {"reconnected_cb": self._reconnected},
        )

    def subscriber(self, *, durable: str, limit: int | None = None) -> PullStreamSubscriber:  # type: ignore[override]
        """Declare a subscriber of this provisioned consumer, which handles up to `limit` deliveries at once.

        By default `settings.worker_concurrency`.
        """
        consumer = durable_named(durable)
        subscriber = super().subscriber(
            consumer.filter_subject,
            stream=JStream(consumer.stream, declare=False),
            durable=consumer.name,
            pull_sub=PullSub(),
            ack_policy=AckPolicy.MANUAL,  # its default drops a message whose handler fails
            decoder=_decode,
            no_reply=True,
        )
        limit = limit or self._settings.worker_concurrency
        pull = Pull(subscriber, consumer, limit=limit, client=lambda: self._bus.client)
        self._pulls.append(pull)
        subscriber.subscription = pull  # type: ignore[assignment]  # FastStream makes one of its own if it has none
        return subscriber

    def answer(self, subject: str, *, queue: str = "") -> Callable[[Responder], Responder]:
        """Declare a function that answers requests: see `Bus.answer`."""

        def declare(answer: Responder) -> Responder:
            self.answering.append(Answering(subject, queue, answer))
            return answer

        return declare

    async def start(self) -> None:
        """Wait until the bus and its log can be read, then start all subscribers concurrently.

        A subscriber that waits for its consumer delays no other. Raises WrongFormat for a log of another format.
        """
        await self._bus.wait_until_readable()
        await retry_until_connected(self._name, self.connect)
        for subscriber in self.subscribers:
            await subscriber.start()
        answering = (self._bus.answer(subject, answer, queue=queue) for subject, queue, answer in self.answering)
        await asyncio.gather(*answering, *(pull.start() for pull in self._pulls))

    async def _reconnected(self) -> None:
        await self._default_reconnected()
        for pull in self._pulls:
            pull.pull_again()

    async def stop(
        self,
        exc_type: type[BaseException] | None = None,
        exc_val: BaseException | None = None,
        exc_tb: TracebackType | None = None,
    ) -> None:
        """Stop pulling, with a grace period for running handlers; then stop the rest."""
        grace = self._settings.graceful_timeout
        await asyncio.gather(*(ignore_errors(pull.stop(grace)) for pull in self._pulls))
        await ignore_errors(super().stop(exc_type, exc_val, exc_tb))


async def _decode(message: NatsMessage) -> Delivery:
    """The handler's argument. A message of FastStream's test broker counts as a first delivery."""
    raw = message.raw_message
    return delivery_of(raw) if raw.reply else Delivery(raw.subject, raw.data, 0, 1, raw.headers or {})


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
