"""The bus: everything a process does with NATS."""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from datetime import datetime
from typing import TYPE_CHECKING, Any, Protocol

import nats.errors
import nats.js.errors
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg

from parley.events.values import Artefact
from shared.bus.artefacts import Artefacts
from shared.bus.connection import connect
from shared.bus.deliveries import ConsumerState, consumer_state, ignore_errors
from shared.bus.errors import BusUnavailable, MessageTooLarge
from shared.bus.jetstream import JetStreamLog, Replication
from shared.bus.jetstream_api import reported_as_unavailable
from shared.bus.library import JetStreamLibrary
from shared.bus.log_format import WrongFormat, wait_for_log
from shared.bus.logins import end_login, ended_logins, redeem
from shared.bus.requests import ERROR, ERROR_CODE, TOO_LARGE, Responder, has_inbox, payload_limit, respond
from shared.bus.topology import SESSIONS, TIMERS
from shared.settings import Settings
from shared.telemetry import metrics, tracing

if TYPE_CHECKING:
    from shared.bus.broker import Broker

FLUSH_TIMEOUT, FLUSH_GIVE_UP = (
    2.0,
    120,
)  # seconds that a subscriber waits for the server, and until the flush is abandoned
log = structlog.get_logger("bus")
Listener = Callable[[str, bytes], Awaitable[None]]


class Subscription(Protocol):
    async def stop(self) -> None: ...


class Bus:
    """The bus connection of one process. Declare subscribers before `start`; do everything else after it."""

    def __init__(self, settings: Settings, name: str) -> None:
        self._settings = settings
        self._name = name
        self._client: Client | None = None
        self._broker: Broker | None = None
        self._reconnected: list[Callable[[], Awaitable[None]]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._replication = Replication()

    # --- lifecycle

    async def connect(self) -> None:
        """Connect, however long that takes. After this everything but the consumers works."""
        if self._client is None:
            self._client = await connect(self._settings, self._name, self._on_reconnected)
            metrics.CONNECTED.set_function(lambda: self.ready)
            if not await self._replication.read(self._client):
                self._read_replication(self._client)

    async def start(self) -> None:
        """Connect and, once log and consumers are provisioned, start the subscribers. Raises WrongFormat."""
        if self._broker:
            await self._broker.start()
        else:
            await self.wait_until_readable()

    async def wait_until_readable(self) -> None:
        """Connect, and wait until the log is provisioned. Raises WrongFormat."""
        await self.connect()
        try:
            await wait_for_log(self.client, self._settings.parley_home)
        except WrongFormat:
            await self.stop()  # a log of another format is neither read nor written
            raise

    async def stop(self) -> None:
        """Stop fetching, wait for running handlers within the grace period, then disconnect."""
        for task in self._tasks:
            task.cancel()
        if self._broker:
            await self._broker.stop()
        if self._client:
            await ignore_errors(self._client.close())

    @property
    def ready(self) -> bool:
        return self._client is not None and self._client.is_connected

    @property
    def max_payload(self) -> int:
        """The largest message that the server accepts, in bytes."""
        return self.client.max_payload

    def on_reconnect(self, callback: Callable[[], Awaitable[None]]) -> None:
        """Call `callback` after every reconnection: feeds may have missed messages."""
        self._reconnected.append(callback)

    async def _on_reconnected(self) -> None:
        if self._client:
            self._read_replication(self._client)
        for callback in self._reconnected:
            await callback()

    def _read_replication(self, client: Client) -> None:
        self._run_in_background(self._replication.follow(client), "replication")

    def _run_in_background(self, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    @property
    def client(self) -> Client:
        if self._client is None:
            raise BusUnavailable("Not connected to NATS yet.")
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
            from shared.bus.broker import Broker  # noqa: PLC0415  only processes that consume load FastStream

            self._broker = Broker(self._settings, self._name, self)
        return self._broker

    async def outstanding(self, durable: str, stream: str = SESSIONS) -> int:
        """How many messages this consumer has not received or not acknowledged. Raises BusUnavailable."""
        with reported_as_unavailable(f"The consumer {durable} cannot be asked"):
            info = await self.client.jetstream().consumer_info(stream, durable)
        return (info.num_pending or 0) + (info.num_ack_pending or 0)

    async def consumer_state(self, durable: str, stream: str = SESSIONS) -> ConsumerState:
        """The consumer's current state. Raises BusUnavailable, also if there is no such consumer."""
        with reported_as_unavailable(f"The consumer {durable} cannot be asked"):
            return await consumer_state(self.client, stream, durable)

    # --- the object store

    async def keep(self, name: str, data: bytes) -> Artefact:
        """Store data as `<session>/<turn>/<action>/<attempt>` or `<session>/files/<sha256>`.

        If the same data is stored already, nothing is written. Raises EventTooLarge, BusUnavailable.
        """
        return await Artefacts(self.client).keep(name, data)

    async def fetch(self, name: str) -> bytes | None:
        """The data stored under this name; None if there is none. Raises BusUnavailable."""
        return await Artefacts(self.client).fetch(name)

    async def drop(self, prefix: str) -> None:
        """Delete every object whose name starts with `prefix`. Raises BusUnavailable."""
        await Artefacts(self.client).drop(prefix)

    async def redeem(self, ticket_id: str) -> bool:
        """Use a one-time ticket. False if any gateway has seen it before. Raises BusUnavailable."""
        return await redeem(self.client, ticket_id)

    async def end_login(self, login_id: str) -> None:
        """End this login at every gateway. Raises BusUnavailable."""
        await end_login(self.client, login_id)

    async def ended_logins(self) -> set[str]:
        """The ids of logins that were ended before they expired. Raises BusUnavailable."""
        return await ended_logins(self.client)

    # --- core NATS

    async def publish(self, subject: str, data: bytes) -> None:
        """Fire and forget. Raises BusUnavailable while disconnected."""
        try:
            await self.client.publish(subject, data)
        except nats.errors.Error as error:
            raise BusUnavailable(repr(error)) from error

    async def request(self, subject: str, data: bytes, *, timeout: float = 5) -> bytes:  # noqa: ASYNC109
        """One answer within `timeout` seconds. Raises BusUnavailable, MessageTooLarge."""
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
            raise BusUnavailable(f"No service answers on {subject}: {error!r}") from error

    async def subscribe(self, subject: str, handler: Listener, *, queue: str = "") -> Subscription:
        """Call `handler` for each message in order, one at a time. Messages sent after this returns are not missed."""

        async def received(message: Msg) -> None:
            await handler(message.subject, message.data)

        return await self._subscribe_raw(subject, received, queue)

    async def _subscribe_raw(
        self, subject: str, received: Callable[[Msg], Awaitable[None]], queue: str
    ) -> Subscription:
        subscription = _CoreSubscription(await self.client.subscribe(subject, queue=queue, cb=received))
        await self._wait_for_flush(FLUSH_TIMEOUT)  # while disconnected, the client subscribes when it reconnects
        return subscription

    async def _wait_for_flush(self, seconds: float) -> None:
        """Wait until the server has received everything, or for this many seconds.

        The flush runs in a task that is not cancelled: the reply to a cancelled flush breaks nats-py's connection.
        """
        await asyncio.wait({self._run_in_background(self._flush(), "flush")}, timeout=seconds)

    async def _flush(self) -> None:
        for _ in range(2):  # nats-py sends the first PING before what it still buffers
            await ignore_errors(self.client.flush(timeout=FLUSH_GIVE_UP))

    async def answer(self, subject: str, handler: Responder, *, queue: str = "") -> Subscription:
        """Answer requests concurrently. Replicas in one `queue` share them; without a queue every replica gets each.

        Requests sent after this returns are not missed. A handler that returns None sends no answer.
        """

        async def received(message: Msg) -> None:
            if has_inbox(message):
                self._run_in_background(respond(self.client, message, handler, subject=subject), "answer")

        return await self._subscribe_raw(subject, received, queue)

    # --- timers, one for each session and kind, which the broker stores and fires

    async def arm(self, session_id: str, kind: str, at: datetime, payload: bytes) -> None:
        """Set or replace a timer: at this (aware) time `payload` is sent to timerfired.<session>.<kind>."""
        headers = {
            "Nats-Schedule": f"@at {at.astimezone().isoformat(timespec='milliseconds')}",
            "Nats-Schedule-Target": f"timerfired.{session_id}.{kind}",
        }
        with reported_as_unavailable("The timer cannot be armed"):
            timer = _timer(session_id, kind)
            await self.client.jetstream().publish(timer, payload, stream=TIMERS, headers=headers, timeout=5)

    async def timer(self, session_id: str, kind: str) -> bytes | None:
        """The timer's payload; None if it is not armed or has fired. Raises BusUnavailable."""
        with reported_as_unavailable("The timer cannot be read"):
            try:
                message = await self.client.jetstream().get_last_msg(TIMERS, _timer(session_id, kind))
            except nats.js.errors.NotFoundError:
                return None
        return message.data or b""

    async def disarm(self, session_id: str, kind: str) -> None:
        """Cancel the timer, if it is armed."""
        with reported_as_unavailable("The timer cannot be cancelled"):
            await self.client.jetstream().purge_stream(TIMERS, subject=_timer(session_id, kind))


def _timer(session_id: str, kind: str) -> str:
    return f"timer.{session_id}.{kind}"


class _CoreSubscription:
    def __init__(self, subscription: Any) -> None:
        self._subscription = subscription

    async def stop(self) -> None:
        await ignore_errors(self._subscription.unsubscribe())
