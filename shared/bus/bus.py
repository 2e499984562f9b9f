"""The bus as services see it."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

import nats.errors
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg

from parley.events.values import Artefact
from shared.bus.api import AMBIGUOUS
from shared.bus.artefacts import Artefacts
from shared.bus.connection import connect
from shared.bus.consuming import quietly
from shared.bus.errors import BusDown, MessageTooLarge
from shared.bus.jetstream import JetStreamLog
from shared.bus.library import JetStreamLibrary
from shared.bus.log_format import WrongFormat, log_of_this_format
from shared.bus.logouts import end_login, ended_logins
from shared.bus.replication import Replication
from shared.bus.requests import ERROR, ERROR_CODE, TOO_LARGE, Answer, has_inbox, payload_limit, respond
from shared.bus.strikes import Strikes
from shared.bus.tickets import redeem
from shared.bus.timers import arm_timer, disarm_timer, timer_payload
from shared.bus.topology import SESSIONS
from shared.bus.watched import Consumer, consumer_of
from shared.settings import Settings
from shared.telemetry import metrics, tracing

if TYPE_CHECKING:
    from shared.bus.broker import Broker

FLUSH, FLUSH_ENDS = 2.0, 120  # seconds that a subscriber waits for the server, and until it is given up
log = structlog.get_logger("bus")
Listener = Callable[[str, bytes], Awaitable[None]]
Responder = Callable[[str, bytes], Awaitable[bytes | None]]


class Subscription(Protocol):
    async def stop(self) -> None: ...


class Bus:
    """One process's place on the bus. Subscribers are declared before `start`; everything else comes after it."""

    def __init__(self, settings: Settings, name: str) -> None:
        self._settings = settings
        self._name = name
        self._client: Client | None = None
        self._broker: Broker | None = None
        self._reconnected: list[Callable[[], Awaitable[None]]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._replication = Replication()

    # --- life

    async def connect(self) -> None:
        """Connect, and wait for as long as that takes: from here on all but the consumers works."""
        if self._client is None:
            self._client = await connect(self._settings, self._name, self._tell_reconnected)
            metrics.CONNECTED.set_function(lambda: self.ready)
            if not await self._replication.read(self._client):
                self._read_replication(self._client)

    async def start(self) -> None:
        """Connect and, once log and consumers are provisioned, start the subscribers. Raises WrongFormat."""
        if self._broker:
            await self._broker.start()
        else:
            await self.ready_to_read()

    async def ready_to_read(self) -> None:
        """Connect, and wait until the log is provisioned. Raises WrongFormat."""
        await self.connect()
        try:
            await log_of_this_format(self.client)
        except WrongFormat:
            await self.stop()  # nothing is read or written here
            raise

    async def stop(self) -> None:
        """Fetch no more, let running handlers end within the grace, then leave."""
        for task in self._tasks:
            task.cancel()
        if self._broker:
            await self._broker.stop()
        if self._client:
            await quietly(self._client.close())

    @property
    def ready(self) -> bool:
        return self._client is not None and self._client.is_connected

    @property
    def max_payload(self) -> int:
        """Bytes that one message may have, as the server says."""
        return self.client.max_payload

    def on_reconnect(self, callback: Callable[[], Awaitable[None]]) -> None:
        """Called whenever the connection is back: feeds may have missed something."""
        self._reconnected.append(callback)

    async def _tell_reconnected(self) -> None:
        if self._client:
            self._read_replication(self._client)
        for callback in self._reconnected:
            await callback()

    def _read_replication(self, client: Client) -> None:
        self._in_background(self._replication.follow(client), "replication")

    def _in_background(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    @property
    def client(self) -> Client:
        if self._client is None:
            raise BusDown("Not connected to NATS yet.")
        return self._client

    @property
    def log(self) -> JetStreamLog:
        return JetStreamLog(lambda: self.client, self._replication)

    @property
    def library(self) -> JetStreamLibrary:
        return JetStreamLibrary(lambda: self.client)

    # --- durable work

    @property
    def broker(self) -> "Broker":
        """FastStream's broker, on which a service declares its subscribers before `start`."""
        if self._broker is None:
            from shared.bus.broker import Broker  # noqa: PLC0415  only who consumes waits for FastStream to load

            self._broker = Broker(self._settings, self._name, self)
        return self._broker

    async def outstanding(self, durable: str, stream: str = SESSIONS) -> int:
        """Messages that this consumer has not been given, or has not acknowledged yet."""
        try:
            info = await self.client.jetstream().consumer_info(stream, durable)
        except AMBIGUOUS as error:
            raise BusDown(f"The consumer {durable} cannot be asked: {error!r}") from error
        return (info.num_pending or 0) + (info.num_ack_pending or 0)

    async def consumer(self, durable: str, stream: str = SESSIONS) -> Consumer:
        """How this consumer stands now. Raises BusDown, also where there is no such consumer."""
        try:
            return await consumer_of(self.client, stream, durable)
        except AMBIGUOUS as error:
            raise BusDown(f"The consumer {durable} cannot be asked: {error!r}") from error

    async def watchdog_exits(self) -> dict[str, int]:
        """How many processes of each service their watchdog ended, in the last 30 days. Raises BusDown."""
        return await Strikes(self.client).exits_by_service()

    # --- the object store

    async def keep(self, name: str, data: bytes) -> Artefact:
        """Keep these bytes under `<session>/<turn>/<action>/<attempt>`, or `<session>/files/<sha256>`.

        The same again is no work.

        Raises TooLarge, BusDown.
        """
        return await Artefacts(self.client).keep(name, data)

    async def fetch(self, name: str) -> bytes | None:
        """What is kept under this name; None where nothing is. Raises BusDown."""
        return await Artefacts(self.client).fetch(name)

    async def drop(self, prefix: str) -> None:
        """Forget everything whose name begins so. Raises BusDown."""
        await Artefacts(self.client).drop(prefix)

    async def redeem(self, ticket_id: str) -> bool:
        """Use a one-time ticket up; False if it has been before, here or at another gateway. Raises BusDown."""
        return await redeem(self.client, ticket_id)

    async def end_login(self, login_id: str) -> None:
        """Have every gateway know that this login has ended. Raises BusDown."""
        await end_login(self.client, login_id)

    async def ended_logins(self) -> set[str]:
        """The ids of the logins that were ended before their time. Raises BusDown."""
        return await ended_logins(self.client)

    # --- core NATS

    async def publish(self, subject: str, data: bytes) -> None:
        """Fire and forget. Raises BusDown while disconnected."""
        try:
            await self.client.publish(subject, data)
        except nats.errors.Error as error:
            raise BusDown(repr(error)) from error

    async def request(self, subject: str, data: bytes, *, timeout: float = 5) -> bytes:  # noqa: ASYNC109
        """One answer within `timeout` seconds. Raises BusDown, MessageTooLarge."""
        try:
            headers = dict(tracing.headers()) or None
            reply = await self.client.request(subject, data, timeout=timeout, headers=headers)
            if (reply.headers or {}).get(ERROR_CODE) == TOO_LARGE:
                raise MessageTooLarge((reply.headers or {}).get(ERROR, subject))
            return reply.data
        except nats.errors.MaxPayloadError as error:
            raise MessageTooLarge(
                f"The request on {subject} has {len(data)} bytes: {payload_limit(self.client)}."
            ) from error
        except (nats.errors.Error, TimeoutError) as error:
            raise BusDown(f"Nobody answers on {subject}: {error!r}") from error

    async def subscribe(self, subject: str, handler: Listener, *, queue: str = "") -> Subscription:
        """Messages in order, one after the other, from here on: what is stored after this returns is heard."""

        async def received(message: Msg) -> None:
            await handler(message.subject, message.data)

        return await self._subscribed(subject, received, queue)

    async def _subscribed(self, subject: str, received: Callable[[Msg], Awaitable[None]], queue: str) -> Subscription:
        subscription = _Core(await self.client.subscribe(subject, queue=queue, cb=received))
        await self._flushed(FLUSH)  # while disconnected it is subscribed on reconnecting
        return subscription

    async def _flushed(self, seconds: float) -> None:
        """Until the server has seen all of it, or this time is over.

        In a task of its own, which nobody cancels: the answer to a flush that was given up breaks nats-py's connection.
        """
        await asyncio.wait({self._in_background(self._flush(), "flush")}, timeout=seconds)

    async def _flush(self) -> None:
        for _ in range(2):  # nats-py sends a PING ahead of what it still buffers: only the second one follows all of it
            await quietly(self.client.flush(timeout=FLUSH_ENDS))

    async def answer(self, subject: str, handler: Responder, *, queue: str = "") -> Subscription:
        """Answer requests, several at once; replicas of one `queue` share them (without one, all are asked).

        What is asked after this returns is heard. A handler that returns None leaves the answer to another.
        """

        async def answer(message: Msg) -> bytes | None:
            return await handler(message.subject, message.data)

        return await self.answer_messages(subject, answer, queue=queue)

    async def answer_messages(self, subject: str, answer: Answer, *, queue: str = "") -> Subscription:
        """As `answer`, with a handler of nats-py's messages."""

        async def received(message: Msg) -> None:
            if has_inbox(message):
                self._in_background(respond(self.client, message, answer, subject=subject), "answer")

        return await self._subscribed(subject, received, queue)

    # --- timers

    async def arm(self, session_id: str, kind: str, at: datetime, payload: bytes) -> None:
        """Have `payload` delivered on timerfired.<session>.<kind> at this time (aware); it replaces an earlier one."""
        await arm_timer(self.client, session_id, kind, at, payload)

    async def timer(self, session_id: str, kind: str) -> bytes | None:
        """The payload of the timer, if it is armed. Raises BusDown."""
        return await timer_payload(self.client, session_id, kind)

    async def disarm(self, session_id: str, kind: str) -> None:
        """Cancel the timer, if it is armed."""
        await disarm_timer(self.client, session_id, kind)


class _Core:
    def __init__(self, subscription: Any) -> None:
        self._subscription = subscription

    async def stop(self) -> None:
        await quietly(self._subscription.unsubscribe())
