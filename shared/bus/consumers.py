"""FastStream behind one factory: every durable consumer of a process, with our own acks. No service sees its options.

Imported only by processes that consume: FastStream takes a quarter of a second to load.
"""

import asyncio
from typing import Any, NamedTuple

import nats.js.errors
import structlog
from faststream import AckPolicy
from faststream.nats import ConsumerConfig, JStream, NatsBroker, PullSub
from faststream.nats.subscriber.usecases import LogicSubscriber
from nats.aio.client import Client

from shared.bus.api import AMBIGUOUS
from shared.bus.connection import options, until_there
from shared.bus.consuming import Handler, Slots, quietly
from shared.settings import Settings

log = structlog.get_logger("bus")
FETCH = 1.5  # seconds that one request for a message waits at the server
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

    def add(self, stream: str, durable: str, handler: Handler, limit: int | None) -> None:
        heartbeat = max(self._settings.ack_wait / 3, 0.1)
        slots = Slots(handler, limit=limit or self._settings.worker_slots, heartbeat=heartbeat)
        self._durables.append(Durable(stream, durable, slots))

    async def start(self, client: Client) -> None:
        """Wait until everything is provisioned, then fetch. Nothing is declared here: a consumer keeps its settings."""
        for durable in self._durables:
            await _until_provisioned(client, durable)
        broker = NatsBroker(self._settings.nats_url, logger=None, apply_types=False, **options(self._name))
        subscribers = [_subscribe(broker, durable) for durable in self._durables]
        self._broker = broker
        await until_there(self._name, broker.start)
        pairs = zip(self._durables, subscribers, strict=True)
        self._watches = [asyncio.create_task(_watch(client, durable, subscriber)) for durable, subscriber in pairs]

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


def _subscribe(broker: NatsBroker, durable: Durable) -> LogicSubscriber[Any]:
    subscriber = broker.subscriber(
        stream=JStream(durable.stream, declare=False),
        durable=durable.name,
        config=ConsumerConfig(filter_subject=None),
        pull_sub=PullSub(batch_size=1, timeout=FETCH),
        ack_policy=AckPolicy.MANUAL,  # its default drops a message whose handler fails
        decoder=_undecoded,
        no_reply=True,
    )

    async def take(_: Any) -> None:
        message = broker.context.get_local("message")
        await durable.slots.take(message.raw_message)

    subscriber(take)
    return subscriber


async def _watch(client: Client, durable: Durable, subscriber: LogicSubscriber[Any]) -> None:
    """FastStream asks for a consumer that was deleted in a hot and silent loop: stop it, and start it again later."""
    while True:
        await asyncio.sleep(WATCH)
        if not await _is_gone(client, durable):
            continue
        log.error("consumer_gone", stream=durable.stream, consumer=durable.name)
        await quietly(subscriber.stop())
        await _until_provisioned(client, durable)
        await _start_again(subscriber)
        log.info("consumer_back", stream=durable.stream, consumer=durable.name)


async def _is_gone(client: Client, durable: Durable) -> bool:
    """Whether the server says so; one that does not answer says nothing."""
    try:
        await client.jetstream().consumer_info(durable.stream, durable.name)
    except nats.js.errors.NotFoundError:
        return True
    except AMBIGUOUS:
        return False
    return False


async def _start_again(subscriber: LogicSubscriber[Any]) -> None:
    while True:
        try:
            return await subscriber.start()
        except AMBIGUOUS as error:
            log.warning("not_subscribed", error=repr(error))
            await asyncio.sleep(LOOK_AGAIN)


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


async def _undecoded(message: Any) -> bytes:
    return bytes(message.body)
