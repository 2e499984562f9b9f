"""The bus as services see it."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Protocol

import nats.errors
import nats.js.errors
import structlog
from faststream import AckPolicy
from faststream.nats import ConsumerConfig, JStream, NatsBroker, PullSub
from nats.aio.client import Client
from nats.aio.msg import Msg

from shared.bus.connection import connect, options, until_there
from shared.bus.consuming import Handler, Slots
from shared.bus.errors import BusDown
from shared.bus.jetstream import AMBIGUOUS, JetStreamLog
from shared.bus.topology import SESSIONS, TIMERS
from shared.settings import Settings

log = structlog.get_logger("bus")
Listener = Callable[[str, bytes], Awaitable[None]]
Responder = Callable[[str, bytes], Awaitable[bytes | None]]


class Subscription(Protocol):
    async def stop(self) -> None: ...


class Bus:
    """One process's place on the bus. `consume` before `start`; everything else after it."""

    def __init__(self, settings: Settings, name: str) -> None:
        self._settings = settings
        self._name = name
        self._client: Client | None = None
        self._broker: NatsBroker | None = None
        self._slots: list[Slots] = []
        self._consumers: list[Callable[[NatsBroker], None]] = []
        self._reconnected: list[Callable[[], Awaitable[None]]] = []
        self._tasks: set[asyncio.Task[None]] = set()

    # --- life

    async def connect(self) -> None:
        """Connect, and wait for as long as that takes: from here on all but the consumers works."""
        if self._client is None:
            self._client = await connect(self._settings, self._name, self._tell_reconnected)

    async def start(self) -> None:
        """Connect and, once the streams are there, begin to consume."""
        await self.connect()
        if not self._consumers:
            return
        await self._until_provisioned()
        broker = NatsBroker(
            self._settings.nats_url, logger=None, apply_types=False, **options(f"{self._name}-consumers")
        )
        for declare in self._consumers:
            declare(broker)
        self._broker = broker
        await until_there(self._name, broker.start)

    async def stop(self) -> None:
        """Fetch no more, let running handlers end within the grace, then leave."""
        for task in self._tasks:
            task.cancel()
        if self._broker:
            for subscriber in self._broker.subscribers:
                await _quietly(subscriber.stop())
        await asyncio.gather(*(slots.drain(self._settings.graceful_timeout) for slots in self._slots))
        if self._broker:
            await _quietly(self._broker.stop())
        if self._client:
            await _quietly(self._client.close())

    @property
    def ready(self) -> bool:
        return self._client is not None and self._client.is_connected

    def on_reconnect(self, callback: Callable[[], Awaitable[None]]) -> None:
        """Called whenever the connection is back: feeds may have missed something."""
        self._reconnected.append(callback)

    async def _tell_reconnected(self) -> None:
        for callback in self._reconnected:
            await callback()

    async def _until_provisioned(self) -> None:
        while True:
            try:
                await self.client.jetstream().stream_info(SESSIONS)
            except (*AMBIGUOUS, nats.js.errors.NotFoundError) as error:
                log.warning("waiting_for_stream", stream=SESSIONS, error=str(error), hint="run `parley provision`")
                await asyncio.sleep(1)
            else:
                return

    @property
    def client(self) -> Client:
        if self._client is None:
            raise BusDown("Not connected to NATS yet.")
        return self._client

    @property
    def log(self) -> JetStreamLog:
        return JetStreamLog(self.client)

    # --- durable work

    def consume(self, durable: str, handler: Handler, *, stream: str = SESSIONS, limit: int | None = None) -> None:
        """Work a provisioned durable consumer, `limit` messages at once (default: settings.worker_slots)."""
        slots = Slots(
            handler, limit=limit or self._settings.worker_slots, heartbeat=max(self._settings.ack_wait / 3, 0.1)
        )
        self._slots.append(slots)

        def declare(broker: NatsBroker) -> None:
            subscriber = broker.subscriber(
                stream=JStream(stream, declare=False),
                durable=durable,
                config=ConsumerConfig(filter_subject=None),
                pull_sub=PullSub(batch_size=1, timeout=2),
                ack_policy=AckPolicy.MANUAL,
                decoder=_undecoded,
                no_reply=True,
            )

            async def take(_: Any) -> None:
                message = broker.context.get_local("message")
                await slots.take(message.raw_message)

            subscriber(take)

        self._consumers.append(declare)

    async def outstanding(self, durable: str, stream: str = SESSIONS) -> int:
        """Messages that this consumer has not been given, or has not acknowledged yet."""
        try:
            info = await self.client.jetstream().consumer_info(stream, durable)
        except AMBIGUOUS as error:
            raise BusDown(f"The consumer {durable} cannot be asked: {error!r}") from error
        return (info.num_pending or 0) + (info.num_ack_pending or 0)

    # --- core NATS

    async def publish(self, subject: str, data: bytes) -> None:
        """Fire and forget. Raises BusDown while disconnected."""
        try:
            await self.client.publish(subject, data)
        except nats.errors.Error as error:
            raise BusDown(repr(error)) from error

    async def request(self, subject: str, data: bytes, *, timeout: float = 5) -> bytes:  # noqa: ASYNC109
        """One answer within `timeout` seconds. Raises BusDown."""
        try:
            return (await self.client.request(subject, data, timeout=timeout)).data
        except (nats.errors.Error, TimeoutError) as error:
            raise BusDown(f"Nobody answers on {subject}: {error!r}") from error

    async def subscribe(self, subject: str, handler: Listener, *, queue: str = "") -> Subscription:
        """Messages in order, one after the other."""

        async def received(message: Msg) -> None:
            await handler(message.subject, message.data)

        return _Core(await self.client.subscribe(subject, queue=queue, cb=received))

    async def answer(self, subject: str, handler: Responder, *, queue: str = "") -> Subscription:
        """Answer requests, several at once; replicas of one `queue` share them (without one, all are asked).

        A handler that returns None leaves the answer to another.
        """

        async def respond(message: Msg) -> None:
            try:
                answer = await handler(message.subject, message.data)
                if answer is not None:
                    await message.respond(answer)
            except Exception:
                log.exception("request_failed", subject=message.subject)

        async def received(message: Msg) -> None:
            task = asyncio.create_task(respond(message))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

        return _Core(await self.client.subscribe(subject, queue=queue, cb=received))

    # --- timers

    async def arm(self, session_id: str, kind: str, at: datetime, payload: bytes) -> None:
        """Have `payload` delivered on timerfired.<session>.<kind> at this time (aware); it replaces an earlier one."""
        headers = {
            "Nats-Schedule": f"@at {at.astimezone().isoformat(timespec='seconds')}",
            "Nats-Schedule-Target": f"timerfired.{session_id}.{kind}",
        }
        try:
            await self.client.jetstream().publish(
                f"timer.{session_id}.{kind}", payload, stream=TIMERS, headers=headers, timeout=5
            )
        except AMBIGUOUS as error:
            raise BusDown(f"The timer cannot be armed: {error!r}") from error

    async def disarm(self, session_id: str, kind: str) -> None:
        """Cancel the timer, if it is armed."""
        try:
            await self.client.jetstream().purge_stream(TIMERS, subject=f"timer.{session_id}.{kind}")
        except AMBIGUOUS as error:
            raise BusDown(f"The timer cannot be cancelled: {error!r}") from error


class _Core:
    def __init__(self, subscription: Any) -> None:
        self._subscription = subscription

    async def stop(self) -> None:
        await _quietly(self._subscription.unsubscribe())


async def _undecoded(message: Any) -> bytes:
    return bytes(message.body)


async def _quietly(ending: Awaitable[Any]) -> None:
    """Leaving must work whatever state the connection is in."""
    try:
        await ending
    except Exception as error:
        log.debug("while_leaving", error=repr(error))
