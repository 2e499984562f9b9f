"""Deliveries of a durable consumer, and how many of them a process handles at once."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import structlog
from nats.aio.msg import Msg

from shared.log import StoredMessage

log = structlog.get_logger("bus")
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
CANCEL_GRACE = 1.0  # seconds in which a cancelled handler may still record its outcome


class Delivery(NamedTuple):
    """A message of a durable consumer. `position` is its stream sequence; `deliveries` starts at 1."""

    subject: str
    data: bytes
    position: int
    deliveries: int
    headers: Mapping[str, str] = {}
    at: datetime = datetime.min.replace(tzinfo=UTC)  # when the broker stored it
    consumer: str = ""

    @property
    def raw(self) -> StoredMessage:
        """The message as the log stores it."""
        return StoredMessage(self.position, self.subject, self.headers, self.data, self.at)


Handler = Callable[[Delivery], Awaitable[None]]


def delivery_of(message: Msg) -> Delivery:
    """Parse the delivery from the message and its acknowledgement subject.

    The subject is `$JS.ACK.<stream>.<consumer>.<deliveries>.<position>.<number>.<stored at>.…`,
    where newer servers add two tokens after ACK and one at the end. nats-py's metadata rounds the time, so it can
    differ from the log's by a microsecond.
    """
    *_, consumer, deliveries, position, _, stored, _ = message.reply.split(".")[:11]
    at = EPOCH + timedelta(microseconds=int(stored) // 1000)
    headers = message.headers or {}
    return Delivery(message.subject, message.data, int(position), int(deliveries), headers, at, consumer)


class Slots:
    """Runs a consumer's handlers as tasks, at most `limit` at once."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._tasks: set[asyncio.Task[Any]] = set()
        self._changed = asyncio.Event()
        self.draining = False

    @property
    def free(self) -> int:
        return self.limit - len(self._tasks)

    async def wait_for_free(self) -> None:
        """Wait until a slot is free or draining begins."""
        while self.free < 1 and not self.draining:
            self._changed.clear()
            await self._changed.wait()

    def start(self, work: Coroutine[Any, Any, Any], ended: Callable[[], None]) -> None:
        def done(task: asyncio.Task[Any]) -> None:
            self._tasks.discard(task)
            self._changed.set()
            ended()

        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(done)

    async def drain(self, grace: float) -> None:
        """Wait for running handlers. After `grace` seconds cancel the rest: another process continues their work.

        A cancelled handler has CANCEL_GRACE seconds to record its outcome: without a log that could take for ever.
        """
        self.draining = True
        self._changed.set()
        for seconds in (grace, CANCEL_GRACE, CANCEL_GRACE):
            if not self._tasks:
                return
            _, late = await asyncio.wait(self._tasks, timeout=seconds)
            for task in late:
                task.cancel()


class PullRequests:
    """Pull requests in progress. The server answers the oldest first."""

    def __init__(self) -> None:
        self._open: deque[tuple[float, int]] = (
            deque()
        )  # when the request has surely ended, and how many messages it may still bring

    @property
    def expected(self) -> int:
        """How many messages may still arrive."""
        return sum(messages for _, messages in self._open)

    def add(self, messages: int, until: float) -> None:
        """Add a request for so many messages. `until`: its end, by time.monotonic."""
        self._open.append((until, messages))

    def message_arrived(self) -> None:
        """Count a message against the oldest request."""
        if self._open:
            until, messages = self._open.popleft()
            if messages > 1:
                self._open.appendleft((until, messages - 1))

    def oldest_ended(self) -> None:
        """Remove the oldest request: the server has ended it."""
        if self._open:
            self._open.popleft()

    def expire(self, now: float = float("inf")) -> None:
        """Remove the requests that should have ended by `now`; by default all."""
        while self._open and self._open[0][0] < now:
            self._open.popleft()


async def acknowledge(message: Msg, body: bytes) -> None:
    """Send `+ACK`, `-NAK`, `+TERM <reason>` or `+WPI`. If it is lost, the server redelivers, which is harmless."""
    try:
        await message._client.publish(message.reply, body)  # nats-py's term() takes no reason
    except Exception as error:
        log.warning("ack_not_sent", subject=message.subject, error=repr(error))


async def ignore_errors(ending: Awaitable[Any]) -> None:
    """Await `ending` and log its error: shutdown must work in any state of the connection."""
    try:
        await ending
    except Exception as error:
        log.debug("while_leaving", error=repr(error))
