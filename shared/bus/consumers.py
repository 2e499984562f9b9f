"""FastStream behind one factory: every durable consumer of a process, with our own acks. No service sees its options.

Imported only by processes that consume: FastStream takes a quarter of a second to load.
"""

import asyncio
from functools import partial
from typing import Any, NamedTuple

import nats.errors
import nats.js.errors
import structlog
from faststream import AckPolicy
from faststream.nats import ConsumerConfig, JStream, NatsBroker, PullSub
from faststream.nats.subscriber.usecases import LogicSubscriber
from faststream.security import SASLPlaintext
from nats.aio.client import Client

from shared.bus.api import AMBIGUOUS
from shared.bus.connection import address, options, until_there
from shared.bus.consuming import Handler, Slots, Together, quietly
from shared.bus.errors import BusDown
from shared.bus.strikes import Strikes
from shared.bus.users import inbox
from shared.bus.watched import tell_lag
from shared.services import WORKERS
from shared.settings import Settings
from shared.telemetry import metrics

log = structlog.get_logger("bus")
FETCH = 1.5  # seconds that one request for messages waits at the server
MANY = 1_000_000  # more messages than ever come together
WATCH = 5.0  # seconds between two looks whether a consumer is still there
LOOK_AGAIN = 0.25  # seconds between two looks for what provisioning has not made yet


class Durable(NamedTuple):
    stream: str
    name: str
    slots: Slots


class Consumers:
    """The durable consumers that this process works; made before `start`, which needs them provisioned."""

    def __init__(self, settings: Settings, name: str) -> None:
        self._settings = settings
        self._name = f"{name}-consumers"
        self._durables: list[Durable] = []
        self._broker: NatsBroker | None = None
        self._watches: list[asyncio.Task[None]] = []
        self._together = Together()
        self._strikes: Strikes | None = None

    def add(self, stream: str, durable: str, handler: Handler, limit: int | None) -> None:
        """A worker's message has `max_deliver` tries; a projection's any number."""
        heartbeat = max(self._settings.ack_wait / 3, 0.1)
        slots = Slots(
            handler,
            limit=limit or self._settings.worker_concurrency,
            heartbeat=heartbeat,
            together=self._together,
            strikes=self._recorded,
            tries=self._settings.max_deliver if durable in WORKERS else None,
        )
        self._durables.append(Durable(stream, durable, slots))

    def _recorded(self) -> Strikes:
        if self._strikes is None:
            raise BusDown("Not connected to NATS yet.")
        return self._strikes

    async def start(self, client: Client) -> None:
        """Wait until everything is provisioned, then fetch. Nothing is declared here: a consumer keeps its settings."""
        self._strikes = Strikes(client)
        for durable in self._durables:
            await _until_provisioned(client, durable)
        where = address(self._settings)
        mailbox = inbox(where.user).encode()
        login = SASLPlaintext(where.user, where.password) if where.user else None
        broker = NatsBroker(
            where.servers,
            inbox_prefix=mailbox,
            security=login,
            logger=None,
            apply_types=False,
            **options(self._name),
        )
        subscribers = [_subscribe(broker, durable, mailbox) for durable in self._durables]
        self._broker = broker
        await until_there(self._name, partial(_started, broker))
        for subscriber, durable in zip(subscribers, self._durables, strict=True):
            _fetch_as_wanted(subscriber.subscription, durable.slots)
        self._watches = [asyncio.create_task(_watch(client, durable)) for durable in self._durables]

    async def stop(self) -> None:
        """Fetch no more, and let running handlers end within the grace."""
        for watch in self._watches:
            watch.cancel()
        subscribers = self._broker.subscribers if self._broker else ()
        grace = self._settings.graceful_timeout
        await asyncio.gather(
            *(quietly(subscriber.stop()) for subscriber in subscribers),
            *(durable.slots.drain(grace) for durable in self._durables),
        )
        if self._broker:
            await quietly(self._broker.stop())


def _subscribe(broker: NatsBroker, durable: Durable, mailbox: bytes) -> LogicSubscriber[Any]:
    subscriber = broker.subscriber(
        stream=JStream(durable.stream, declare=False),
        durable=durable.name,
        config=ConsumerConfig(filter_subject=None),
        pull_sub=PullSub(batch=True, batch_size=MANY, timeout=FETCH),  # as many as `_fetch_as_wanted` gets
        ack_policy=AckPolicy.MANUAL,  # its default drops a message whose handler fails
        decoder=_undecoded,
        no_reply=True,
        inbox_prefix=mailbox + b".",  # unlike the connection's, which gets its dot there
    )

    async def take(_: Any) -> None:
        for message in broker.context.get_local("message").raw_message:
            await durable.slots.take(message)

    subscriber(take)
    return subscriber


async def _started(broker: NatsBroker) -> None:
    """With consumers as they are: one that has just gone FastStream would make again, with settings of its own."""
    await broker.connect()
    stream: Any = broker.config.connection_state.stream

    async def bound(*, subject: str, config: ConsumerConfig, **where: Any) -> Any:
        return await stream.pull_subscribe_bind(**where)

    stream.pull_subscribe = bound
    await broker.start()


def _fetch_as_wanted(subscription: Any, slots: Slots) -> None:
    """Fetch as many messages as there are free slots, if so many wait: each begins at once, and none grows old.

    FastStream's time for one call does not depend on how many messages it is given, but of itself it waits until there
    are `MANY`, or no more come: so its second request, for the rest, is told that none do.
    Without a leader, or when it was deleted, a consumer refuses at once, and FastStream asks again at once: that is a
    hot and silent loop, on a machine that may just be electing a leader.
    """
    fetch = subscription.fetch

    async def wanted(*, batch: int, **_: Any) -> Any:
        if batch < MANY:
            raise nats.errors.TimeoutError
        try:
            return await fetch(batch=slots.free, timeout=FETCH)
        except nats.js.errors.ServiceUnavailableError:
            await asyncio.sleep(LOOK_AGAIN)
            raise

    subscription.fetch = wanted


async def _watch(client: Client, durable: Durable) -> None:
    """Say when somebody has deleted the consumer, and when it is back: by itself that is only silence."""
    while True:
        await asyncio.sleep(WATCH)
        if await _is_gone(client, durable):
            log.error("consumer_gone", stream=durable.stream, consumer=durable.name)
            await _until_provisioned(client, durable)
            log.info("consumer_back", stream=durable.stream, consumer=durable.name)


async def _is_gone(client: Client, durable: Durable) -> bool:
    """Whether the server says so; one that does not answer says nothing. What it says of the lag is told."""
    try:
        info = await client.jetstream().consumer_info(durable.stream, durable.name)
    except nats.js.errors.NotFoundError:
        metrics.MISSING.labels(durable.name).set(1)
        return True
    except AMBIGUOUS:
        return False
    metrics.MISSING.labels(durable.name).set(0)
    await tell_lag(client, info)
    return False


async def _until_provisioned(client: Client, durable: Durable) -> None:
    """FastStream would make a missing consumer itself, with settings of its own."""
    waited = False
    while True:
        try:
            await client.jetstream().consumer_info(durable.stream, durable.name)
        except (*AMBIGUOUS, nats.js.errors.NotFoundError) as error:
            if not waited:
                waited = True
                hint = "waiting; run `parley provision`"
                log.warning(
                    "not_provisioned", stream=durable.stream, consumer=durable.name, error=str(error), hint=hint
                )
            await asyncio.sleep(LOOK_AGAIN)
        else:
            return


async def _undecoded(message: Any) -> Any:
    return message.body
