"""How a durable consumer is worked: at most so many at once, heartbeats while it takes, growing delays, parking."""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import structlog
from nats.aio.msg import Msg

from shared.bus.errors import BusDown, Park
from shared.bus.strikes import STRIKES, Strike, Strikes
from shared.log import Raw, UpgradeNeeded
from shared.watchdog.service import WATCHDOG

log = structlog.get_logger("bus")
DELAYS = (0.2, 1.0, 5.0, 15.0, 30.0)
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

    @property
    def raw(self) -> Raw:
        """The message as the log has it."""
        return Raw(self.position, self.subject, self.headers, self.data, self.at)


Handler = Callable[[Delivery], Awaitable[None]]


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
    """Runs a consumer's handlers as tasks of their own, `limit` at the most.

    `take` returns when the next message may be fetched, so that nothing waits here while its ack time runs.
    `strikes` has what became of earlier deliveries of a message; `tries` says how many there may be (None: any number).
    """

    def __init__(  # noqa: PLR0913  how a consumer is worked, by name
        self,
        handler: Handler,
        *,
        limit: int,
        heartbeat: float,
        together: Together,
        strikes: Callable[[], Strikes],
        tries: int | None = None,
    ) -> None:
        self._handler = handler
        self._heartbeat = heartbeat
        self._together = together
        self._strikes = strikes
        self._tries = tries
        self._limit = limit
        self._tasks: set[asyncio.Task[None]] = set()
        self._room = asyncio.Event()
        self._room.set()
        self._leaving = False

    @property
    def free(self) -> int:
        """How many more could begin now; at least the one that would have to wait."""
        return max(self._limit - len(self._tasks), 1)

    async def take(self, message: Msg) -> None:
        await self._room.wait()
        if self._leaving:
            await _answer(message, b"-NAK")
            return
        task = asyncio.create_task(self._work(message))
        self._tasks.add(task)
        task.add_done_callback(self._done)
        self._look()
        await self._room.wait()

    def _done(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        self._look()

    def _look(self) -> None:
        if self._leaving or len(self._tasks) < self._limit:
            self._room.set()
        else:
            self._room.clear()

    async def drain(self, grace: float) -> None:
        """Take no more, let the running handlers end; what still runs after `grace` seconds is left to another.

        A cancelled handler has a moment for its last words; while the log is away these could take for ever.
        """
        self._leaving = True
        self._look()
        for seconds in (grace, LAST_WORDS, LAST_WORDS):
            if not self._tasks:
                return
            _, late = await asyncio.wait(self._tasks, timeout=seconds)
            for task in late:
                task.cancel()

    async def _work(self, message: Msg) -> None:
        delivery = _delivery(message)
        number = WATCHDOG.take(message.reply)
        try:
            with _heartbeats(message, self._heartbeat):
                await self._handle(message, delivery, number)
        except Park as reason:
            log.warning("parked", subject=message.subject, position=delivery.position, reason=str(reason))
            await _answer(message, f"+TERM {reason}"[:500].replace("\n", " ").encode())
        except asyncio.CancelledError:
            await _answer(message, b"-NAK")  # this process is leaving: another one need not wait for the ack time
            raise
        except UpgradeNeeded as newer:
            log.warning("left_to_a_newer_release", subject=message.subject, reason=str(newer))
            with contextlib.suppress(BusDown):  # then this delivery counts as a try
                await self._strikes().put_off(message.reply)
            await _answer(message, _again_in(_delay(delivery)))
        except Exception:
            delay = _delay(delivery)
            log.exception("handler_failed", subject=message.subject, deliveries=delivery.deliveries, again_in=delay)
            await _answer(message, _again_in(delay))
        else:
            await _answer(message, b"+ACK")
        finally:
            WATCHDOG.give_back(number)

    async def _handle(self, message: Msg, delivery: Delivery, number: int) -> None:
        """Run the handler, beside others or alone. Raises what it raises, and Park for what had its strikes or tries.

        What was left to a newer release was not tried.
        """
        # A first delivery has none: it costs no request.
        strike = await self._strikes().of(message.reply) if delivery.deliveries > 1 else None
        if strike and strike.count >= STRIKES:
            raise Park(_given_up(strike))
        before = delivery.deliveries - 1 - (strike.put_off if strike else 0)
        if self._tries is not None and before >= self._tries:
            raise Park(f"given up after {before} deliveries: it ended its worker each time, or could not be handled")
        alone = strike is not None and strike.count > 0
        await self._together.begin(alone=alone)
        try:
            WATCHDOG.begin(number)
            await self._handler(delivery)
        finally:
            self._together.end(alone=alone)


def _given_up(strike: Strike) -> str:
    return (
        f"twice its event loop was blocked by this message, at {strike.where}, and the watchdog ended the process. "
        "The stack is in its log (ended_by_watchdog). Once the cause is mended, try again"
    )


def _delivery(message: Msg) -> Delivery:
    """The metadata's own time is rounded: it would differ by a microsecond from what the log tells."""
    meta, (*_, stored, _) = message.metadata, message.reply.split(".")[:11]
    at = EPOCH + timedelta(microseconds=int(stored) // 1000)
    headers = message.headers or {}
    return Delivery(message.subject, message.data, meta.sequence.stream, meta.num_delivered, headers, at)


@contextlib.contextmanager
def _heartbeats(message: Msg, every: float) -> Iterator[None]:
    """A task is made only for what takes so long."""
    beating: list[asyncio.Task[None]] = []

    async def beat() -> None:
        while True:
            await _answer(message, b"+WPI")
            await asyncio.sleep(every)

    first = asyncio.get_running_loop().call_later(every, lambda: beating.append(asyncio.create_task(beat())))
    try:
        yield
    finally:
        first.cancel()
        for task in beating:
            task.cancel()


def _delay(delivery: Delivery) -> float:
    """Seconds until it is delivered again, here or elsewhere: the more, the more often it has been."""
    return DELAYS[min(delivery.deliveries, len(DELAYS)) - 1]


def _again_in(seconds: float) -> bytes:
    return f'-NAK {{"delay": {int(seconds * 1e9)}}}'.encode()


async def _answer(message: Msg, body: bytes) -> None:
    """Tell the server what became of the message. If it cannot be told, it delivers again, which is harmless."""
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
