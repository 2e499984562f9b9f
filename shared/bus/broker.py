"""A service's FastStream broker: where every option of it is set, so that no service spells one out.

Imported only by processes that consume: FastStream takes a quarter of a second to load.
"""

import asyncio
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from faststream._internal.broker.registrator import Registrator
from faststream._internal.endpoint.subscriber import SubscriberUsecase
from faststream.nats import NatsBroker
from faststream.nats.configs import NatsBrokerConfig
from faststream.security import SASLPlaintext
from nats.aio.msg import Msg

from shared.bus.connection import address, options, until_there
from shared.bus.consuming import quietly
from shared.bus.middleware import Deliveries
from shared.bus.strikes import Strikes
from shared.bus.subscribers import DurableSubscriber, RequestSubscriber
from shared.bus.topology import durable_named
from shared.bus.users import inbox
from shared.settings import Settings

if TYPE_CHECKING:
    from shared.bus.bus import Bus


class Broker(NatsBroker):
    """On a connection of its own, which buffers acknowledgements while it is down. `bus` has the other one, which asks
    about consumers and strikes, and answers requests."""

    def __init__(self, settings: Settings, name: str, bus: "Bus") -> None:
        where = address(settings)
        self._name = f"{name}-consumers"
        self._settings = settings
        self._bus = bus
        connection = options(self._name)
        self._say_reconnected = connection["reconnected_cb"]
        super().__init__(
            where.servers,
            inbox_prefix=inbox(where.user),
            security=SASLPlaintext(where.user, where.password) if where.user else None,
            logger=None,  # a line for each message would cost more than many a handler
            apply_types=False,  # handlers have one parameter: nothing is to be injected
            graceful_timeout=None,  # subscribers end by themselves, within the settings' own grace
            middlewares=[Deliveries(settings, lambda: Strikes(bus.client))],
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
        """`durable`: a handler of this provisioned consumer's deliveries, `limit` at once (default:
        settings.worker_concurrency). `answer`: a handler that answers requests, given their subject and body; the
        types of both are for the documents. Else FastStream's own."""
        if answer:
            return self._registered(
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
        return self._registered(
            DurableSubscriber(
                cast("NatsBrokerConfig", self.config),
                durable_named(durable),
                limit=limit or self._settings.worker_concurrency,
                grace=self._settings.graceful_timeout,
                client=lambda: self._bus.client,
            )
        )

    def _registered[S: SubscriberUsecase[Msg]](self, subscriber: S) -> S:
        """As NatsBroker.subscriber does it with one that it has made itself."""
        Registrator.subscriber(self, subscriber)
        return subscriber

    async def start(self) -> None:
        """Wait for the server and its log. Then start every subscriber by itself: one that waits for its consumer
        delays no other. Raises WrongFormat."""
        await self._bus.ready_to_read()
        await until_there(self._name, self.connect)
        await asyncio.gather(*(subscriber.start() for subscriber in self.subscribers))
        self.running = True

    async def _reconnected(self) -> None:
        await self._say_reconnected()
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
        """Let the running handlers end within the grace; until then the other subscribers go on."""
        await asyncio.gather(*(quietly(subscriber.stop()) for subscriber in self._durable))
        await quietly(super().stop(exc_type, exc_val, exc_tb))
