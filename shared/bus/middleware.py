"""FastStream's middleware around every delivery: heartbeats, acknowledgement, parking, strikes, figures and a span."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Any, cast

import structlog
from faststream import BaseMiddleware, ContextRepo
from faststream.nats import NatsMessage
from nats.aio.msg import Msg

from shared.bus.consuming import Delivery, Together, acknowledge
from shared.bus.errors import BusDown, Park
from shared.bus.strikes import STRIKES, Strike, Strikes
from shared.bus.watched import watched
from shared.log import UpgradeNeeded
from shared.services import WORKERS
from shared.settings import Settings
from shared.watchdog.service import WATCHDOG

log = structlog.get_logger("bus")
DELAYS = (0.2, 1.0, 5.0, 15.0, 30.0)  # seconds until the next delivery, the first after the first failure
ACKNOWLEDGED = "$JS.ACK."  # begins the reply subject of what a durable consumer delivers

CallNext = Callable[[Any], Any]


class Deliveries:
    """Makes the middleware of a process. `strikes`: what became of earlier deliveries; raises BusDown while it cannot
    be asked."""

    def __init__(self, settings: Settings, strikes: Callable[[], Strikes]) -> None:
        self.heartbeat = max(settings.ack_wait / 3, 0.1)
        self.max_deliver = settings.max_deliver
        self.together = Together()
        self.strikes = strikes

    def __call__(self, msg: Any, /, *, context: ContextRepo) -> "DeliveryMiddleware":
        return DeliveryMiddleware(msg, context=context, deliveries=self)


class DeliveryMiddleware(BaseMiddleware[Any, Any]):
    """Answers for one delivery, whatever its handler does. What nobody has to acknowledge it leaves alone."""

    def __init__(self, msg: Msg | None, /, *, context: ContextRepo, deliveries: Deliveries) -> None:
        super().__init__(msg, context=context)
        self._deliveries = deliveries

    async def consume_scope(self, call_next: CallNext, msg: NatsMessage) -> Any:  # type: ignore[override]
        message = msg.raw_message
        if not message.reply.startswith(ACKNOWLEDGED):
            return await call_next(msg)
        delivery = cast("Delivery", await msg.decode())
        number = WATCHDOG.take(message.reply)
        try:
            with _heartbeats(message, self._deliveries.heartbeat):
                await self._handle(call_next, msg, delivery, number)
        except Park as reason:
            log.warning("parked", subject=message.subject, position=delivery.position, reason=str(reason))
            await acknowledge(message, f"+TERM {reason}"[:500].replace("\n", " ").encode())
        except asyncio.CancelledError:
            await acknowledge(message, b"-NAK")  # this process is leaving: another one need not wait for the ack time
            raise
        except UpgradeNeeded as newer:
            log.warning("left_to_a_newer_release", subject=message.subject, reason=str(newer))
            with contextlib.suppress(BusDown):  # then this delivery counts as a try
                await self._deliveries.strikes().put_off(message.reply)
            await acknowledge(message, _again_in(_delay(delivery)))
        except Exception:
            delay = _delay(delivery)
            log.exception("handler_failed", subject=message.subject, deliveries=delivery.deliveries, again_in=delay)
            await acknowledge(message, _again_in(delay))
        else:
            await acknowledge(message, b"+ACK")
        finally:
            WATCHDOG.give_back(number)

    async def _handle(self, call_next: CallNext, msg: NatsMessage, delivery: Delivery, number: int) -> None:
        """Run the handler, beside others or alone. Raises what it raises, and Park for what had its strikes or tries.

        What was left to a newer release was not tried.
        """
        message = msg.raw_message
        # A first delivery has none: it costs no request.
        strike = await self._deliveries.strikes().of(message.reply) if delivery.deliveries > 1 else None
        if strike and strike.count >= STRIKES:
            raise Park(_given_up(strike))
        before = delivery.deliveries - 1 - (strike.put_off if strike else 0)
        if delivery.consumer in WORKERS and before >= self._deliveries.max_deliver:
            raise Park(f"given up after {before} deliveries: it ended its worker each time, or could not be handled")
        alone = strike is not None and strike.count > 0
        await self._deliveries.together.begin(alone=alone)
        try:
            WATCHDOG.begin(number)
            with watched(delivery):
                await call_next(msg)
        finally:
            self._deliveries.together.end(alone=alone)


def _given_up(strike: Strike) -> str:
    return (
        f"twice its event loop was blocked by this message, at {strike.where}, and the watchdog ended the process. "
        "The stack is in its log (ended_by_watchdog). Once the cause is mended, try again"
    )


@contextlib.contextmanager
def _heartbeats(message: Msg, every: float) -> Iterator[None]:
    """A task is made only for what takes so long."""
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


def _delay(delivery: Delivery) -> float:
    """Seconds until it is delivered again, here or elsewhere: the more, the more often it has been."""
    return DELAYS[min(delivery.deliveries, len(DELAYS)) - 1]


def _again_in(seconds: float) -> bytes:
    return f'-NAK {{"delay": {int(seconds * 1e9)}}}'.encode()
