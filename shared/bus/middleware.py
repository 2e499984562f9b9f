"""FastStream middleware for deliveries: heartbeats, acknowledgement, dead letters, metrics and spans."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, cast

import nats.js.errors
import structlog
from faststream import BaseMiddleware, ContextRepo
from faststream.nats import NatsMessage
from nats.aio.client import Client
from nats.aio.msg import Msg

from shared.bus.deliveries import Delivery, acknowledge, observe_delivery
from shared.bus.errors import BusUnavailable, Unprocessable
from shared.bus.jetstream_api import reported_as_unavailable
from shared.bus.topology import ATTEMPTS
from shared.log import UpgradeNeeded
from shared.services import WORKERS
from shared.settings import Settings

_TIMEOUT = 2  # seconds for one answer
log = structlog.get_logger("bus")
DELAYS = (0.2, 1.0, 5.0, 15.0, 30.0)  # seconds until the next delivery, by the number of deliveries
ACK_SUBJECT_PREFIX = "$JS.ACK."  # prefix of the reply subject of a durable consumer's deliveries

CallNext = Callable[[Any], Any]


class Attempts:
    """The subject `attempt.<stream>.<consumer>.<position>` has a message's count. Methods raise BusUnavailable."""

    def __init__(self, client: Client) -> None:
        self._jetstream = client.jetstream(timeout=_TIMEOUT)

    async def add(self, reply: str, attempts: int) -> None:
        """Add to the attempts at the message with this acknowledgement subject."""
        with reported_as_unavailable("An attempt cannot be recorded"):
            await self._jetstream.publish(_subject(reply), headers={"Nats-Incr": f"{attempts:+}"}, timeout=_TIMEOUT)

    async def count(self, reply: str) -> int:
        """The attempts that were added."""
        with reported_as_unavailable("The attempts at a message cannot be read"):
            try:
                message = await self._jetstream.get_last_msg(ATTEMPTS, _subject(reply))
            except nats.js.errors.NotFoundError:
                return 0
        return int(json.loads(message.data or b"{}")["val"])


def _subject(reply: str) -> str:
    """`$JS.ACK.<stream>.<consumer>.<deliveries>.<position>.…`, where newer servers add two tokens after ACK."""
    stream, consumer, _, position = reply.split(".")[:11][-7:-3]
    return f"attempt.{stream}.{consumer}.{position}"


class MiddlewareFactory:
    """Creates the middleware of each delivery, with what they share.

    `attempts` raises BusUnavailable while NATS is unavailable.
    """

    def __init__(self, settings: Settings, attempts: Callable[[], Attempts]) -> None:
        self.heartbeat = max(settings.ack_wait / 3, 0.1)
        self._max_deliver = settings.max_deliver
        self._attempts = attempts
        self._retry_lock = asyncio.Lock()

    def __call__(self, msg: Any, /, *, context: ContextRepo) -> "DeliveryMiddleware":
        return DeliveryMiddleware(msg, context=context, factory=self)

    @contextlib.asynccontextmanager
    async def attempt(self, reply: str, delivery: Delivery) -> AsyncIterator[None]:
        """Count an attempt at a redelivery. Raises Unprocessable if the message has used them up, BusUnavailable.

        From the third attempt on, this process handles one such message at a time: if it ends the process again, the
        others have not begun, and keep their attempts.
        """
        if delivery.deliveries == 1:
            yield
            return
        before = 1 + await self._attempts().count(reply)
        if before >= self._max_deliver:
            raise Unprocessable(
                f"given up after {before} attempts: each ended the process, or the message could not be handled"
            )
        async with self._retry_lock if before > 1 else contextlib.nullcontext():
            await self.count(reply, 1)
            try:
                yield
            except asyncio.CancelledError:  # the process stops: that is no fault of the message
                await self.count(reply, -1)
                raise

    async def count(self, reply: str, attempts: int) -> None:
        """Add to the message's attempts, unless NATS is unavailable."""
        with contextlib.suppress(BusUnavailable):
            await self._attempts().add(reply, attempts)


class DeliveryMiddleware(BaseMiddleware[Any, Any]):
    """Acknowledges one delivery according to how its handler ends. Passes through messages without acknowledgement."""

    def __init__(self, msg: Msg | None, /, *, context: ContextRepo, factory: MiddlewareFactory) -> None:
        super().__init__(msg, context=context)
        self._factory = factory

    async def consume_scope(self, call_next: CallNext, msg: NatsMessage) -> Any:  # type: ignore[override]
        message = msg.raw_message
        if not message.reply.startswith(ACK_SUBJECT_PREFIX):
            return await call_next(msg)
        try:
            with _heartbeats(message, self._factory.heartbeat):
                answer = await self._handle(call_next, msg)
        except asyncio.CancelledError:
            await acknowledge(message, b"-NAK")  # the process is stopping: another one need not wait for ack_wait
            raise
        await acknowledge(message, answer)
        return None

    async def _handle(self, call_next: CallNext, msg: NatsMessage) -> bytes:
        """Run the handler, unless the message has used up its attempts. Returns the acknowledgement."""
        message, delivery = msg.raw_message, cast("Delivery", await msg.decode())
        try:
            async with self._factory.attempt(message.reply, delivery):
                with observe_delivery(delivery):
                    await call_next(msg)
        except Unprocessable as reason:
            log.warning("parked", subject=message.subject, position=delivery.position, reason=str(reason))
            return f"+TERM {reason}"[:500].replace("\n", " ").encode()
        except UpgradeNeeded as newer:
            log.warning("left_to_a_newer_release", subject=message.subject, reason=str(newer))
            await self._factory.count(message.reply, -1)
        except Exception:
            log.exception("handler_failed", subject=message.subject, deliveries=delivery.deliveries)
            if delivery.consumer not in WORKERS:  # it fails while something else is away
                await self._factory.count(message.reply, -1)
        else:
            return b"+ACK"
        return _nak_after(DELAYS[min(delivery.deliveries, len(DELAYS)) - 1])


@contextlib.contextmanager
def _heartbeats(message: Msg, every: float) -> Iterator[None]:
    """Send heartbeats. The task is created only for handlers that take longer than one interval."""
    beating: list[asyncio.Task[None]] = []

    async def beat() -> None:
        while True:
            await acknowledge(message, b"+WPI")
            await asyncio.sleep(every)

    first = asyncio.get_running_loop().call_later(every, lambda: beating.append(asyncio.create_task(beat())))
    try:
        yield
    finally:
        first.cancel()
        for task in beating:
            task.cancel()


def _nak_after(seconds: float) -> bytes:
    return f'-NAK {{"delay": {int(seconds * 1e9)}}}'.encode()
