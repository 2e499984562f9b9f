"""Deliveries of a durable consumer, and how many of them a process works on at once."""

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
LAST_WORDS = 1.0  # seconds that a cancelled handler has to record what it must


class Delivery(NamedTuple):
    """One message of a durable consumer. `position` is its sequence in the stream, `deliveries` counts from 1."""

    subject: str
    data: bytes
    position: int
    deliveries: int
    headers: Mapping[str, str] = {}
    at: datetime = datetime.min.replace(tzinfo=UTC)  # when the broker stored it
    consumer: str = ""

    @property
    def raw(self) -> StoredMessage:
        """The message as the log has it."""
        return StoredMessage(self.position, self.subject, self.headers, self.data, self.at)


Handler = Callable[[Delivery], Awaitable[None]]


def delivery_of(message: Msg) -> Delivery:
    """The delivery that this message is.

    Its acknowledgement subject says so: `$JS.ACK.<stream>.<consumer>.<deliveries>.<position>.<number>.<stored at>.…`,
    in which newer servers put two words after ACK, and one at the end. The time in nats-py's metadata is rounded, a
    microsecond off what the log says.
    """
    *_, consumer, deliveries, position, _, stored, _ = message.reply.split(".")[:11]
    at = EPOCH + timedelta(microseconds=int(stored) // 1000)
    headers = message.headers or {}
    return Delivery(message.subject, message.data, int(position), int(deliveries), headers, at, consumer)


class Together:
    """Deliveries of one process run side by side, but for one with a strike, which runs alone.

    If that one blocks the event loop, too, it is certain which it was.
    """

    def __init__(self) -> None:
        self._lone = asyncio.Lock()  # held by the one that is alone, or waits until it is
        self._running = 0
        self._idle = asyncio.Event()

    async def begin(self, *, alone: bool) -> None:
        """Wait until this one may run; `end` follows, unless this is cancelled."""
        if not alone:
            while self._lone.locked():
                async with self._lone:
                    pass
            self._running += 1
            return
        await self._lone.acquire()
        try:
            while self._running:
                self._idle.clear()
                await self._idle.wait()
        except asyncio.CancelledError:
            self._lone.release()
            raise

    def end(self, *, alone: bool) -> None:
        """It has run."""
        if alone:
            self._lone.release()
            return
        self._running -= 1
        if not self._running:
            self._idle.set()


class Slots:
    """Runs a consumer's handlers as tasks of their own, `limit` at the most."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._tasks: set[asyncio.Task[Any]] = set()
        self._changed = asyncio.Event()
        self.draining = False

    @property
    def free(self) -> int:
        return self.limit - len(self._tasks)

    async def available(self) -> None:
        """Wait until a slot is free, or draining begins."""
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
        """Let the running handlers end. After `grace` seconds, cancel the rest: another process continues their work.

        A cancelled handler has a moment for its last words; while the log is away these could take for ever.
        """
        self.draining = True
        self._changed.set()
        for seconds in (grace, LAST_WORDS, LAST_WORDS):
            if not self._tasks:
                return
            _, late = await asyncio.wait(self._tasks, timeout=seconds)
            for task in late:
                task.cancel()


class PullRequests:
    """The requests for messages that are under way. The server answers the oldest first."""

    def __init__(self) -> None:
        self._open: deque[tuple[float, int]] = deque()  # when it has certainly ended, and how many it may still bring

    @property
    def messages(self) -> int:
        """How many may still come."""
        return sum(messages for _, messages in self._open)

    def began(self, messages: int, until: float) -> None:
        """`until`: on the clock of time.monotonic."""
        self._open.append((until, messages))

    def arrived(self) -> None:
        """One message has come."""
        if self._open:
            until, messages = self._open.popleft()
            if messages > 1:
                self._open.appendleft((until, messages - 1))

    def ended(self) -> None:
        """The server says that the oldest one brings no more."""
        if self._open:
            self._open.popleft()

    def lost(self, now: float = float("inf")) -> None:
        """The server knows of none any more, or of none that should have ended by now."""
        while self._open and self._open[0][0] < now:
            self._open.popleft()


async def acknowledge(message: Msg, body: bytes) -> None:
    """Send `+ACK`, `-NAK`, `+TERM <reason>` or `+WPI`. Without it the server delivers again, which is harmless."""
    try:
        await message._client.publish(message.reply, body)  # nats-py's term() takes no reason
    except Exception as error:
        log.warning("ack_not_sent", subject=message.subject, error=repr(error))


async def quietly(ending: Awaitable[Any]) -> None:
    """Leaving must work whatever state the connection is in."""
    try:
        await ending
    except Exception as error:
        log.debug("while_leaving", error=repr(error))
