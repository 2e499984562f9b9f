"""FastStream middleware for deliveries: heartbeats, acknowledgement, dead letters, strikes, metrics and spans."""

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Any, cast

import structlog
from faststream import BaseMiddleware, ContextRepo
from faststream.nats import NatsMessage
from nats.aio.msg import Msg

from shared.bus.deliveries import Delivery, DeliveryLock, acknowledge
from shared.bus.errors import BusUnavailable, Unprocessable
from shared.bus.instrumentation import observe_delivery
from shared.bus.watchdog_strikes import MAX_STRIKES, Strike, WatchdogStrikes
from shared.log import UpgradeNeeded
from shared.services import WORKERS
from shared.settings import Settings
from shared.watchdog.service import WATCHDOG

log = structlog.get_logger("bus")
DELAYS = (0.2, 1.0, 5.0, 15.0, 30.0)  # seconds until the next delivery, by the number of failures
ACKNOWLEDGED = "$JS.ACK."  # prefix of the reply subject of a durable consumer's deliveries

CallNext = Callable[[Any], Any]


class MiddlewareFactory:
    """Creates the middleware of each delivery, with the state that they share.

    `strikes` gives access to strikes of earlier deliveries. It raises BusUnavailable while NATS is unavailable.
    """

    def __init__(self, settings: Settings, strikes: Callable[[], WatchdogStrikes]) -> None:
        self.heartbeat = max(settings.ack_wait / 3, 0.1)
        self.max_deliver = settings.max_deliver
        self.lock = DeliveryLock()
        self.strikes = strikes

    def __call__(self, msg: Any, /, *, context: ContextRepo) -> "DeliveryMiddleware":
        return DeliveryMiddleware(msg, context=context, deliveries=self)


class DeliveryMiddleware(BaseMiddleware[Any, Any]):
    """Acknowledges one delivery according to how its handler ends. Passes through messages without acknowledgement."""

    def __init__(self, msg: Msg | None, /, *, context: ContextRepo, deliveries: MiddlewareFactory) -> None:
        super().__init__(msg, context=context)
        self._shared = deliveries

    async def consume_scope(self, call_next: CallNext, msg: NatsMessage) -> Any:  # type: ignore[override]
        message = msg.raw_message
        if not message.reply.startswith(ACKNOWLEDGED):
            return await call_next(msg)
        delivery = cast("Delivery", await msg.decode())
        number = WATCHDOG.add_delivery(message.reply)
        try:
            with _heartbeats(message, self._shared.heartbeat):
                await self._handle(call_next, msg, delivery, number)
        except Unprocessable as reason:
            log.warning("parked", subject=message.subject, position=delivery.position, reason=str(reason))
            await acknowledge(message, f"+TERM {reason}"[:500].replace("\n", " ").encode())
        except asyncio.CancelledError:
            await acknowledge(message, b"-NAK")  # the process is stopping: another one need not wait for ack_wait
            raise
        except UpgradeNeeded as newer:
            log.warning("left_to_a_newer_release", subject=message.subject, reason=str(newer))
            with contextlib.suppress(BusUnavailable):  # then this delivery counts as an attempt
                await self._shared.strikes().add_deferral(message.reply)
            await acknowledge(message, _nak_after(_delay(delivery)))
        except Exception:
            delay = _delay(delivery)
            log.exception("handler_failed", subject=message.subject, deliveries=delivery.deliveries, again_in=delay)
            await acknowledge(message, _nak_after(delay))
        else:
            await acknowledge(message, b"+ACK")
        finally:
            WATCHDOG.remove_delivery(number)

    async def _handle(self, call_next: CallNext, msg: NatsMessage, delivery: Delivery, number: int) -> None:
        """Run the handler, concurrently or exclusively. Raises what it raises.

        Raises Unprocessable for a message that has used up its strikes or attempts. Deliveries that were left to a
        newer release are no attempts.
        """
        message = msg.raw_message
        # A first delivery has no strikes, so this saves a request.
        strike = await self._shared.strikes().newest(message.reply) if delivery.deliveries > 1 else None
        if strike and strike.count >= MAX_STRIKES:
            raise Unprocessable(_blocked_reason(strike))
        before = delivery.deliveries - 1 - (strike.put_off if strike else 0)
        if delivery.consumer in WORKERS and before >= self._shared.max_deliver:
            raise Unprocessable(
                f"given up after {before} deliveries: it ended its worker each time, or could not be handled"
            )
        alone = strike is not None and strike.count > 0
        await self._shared.lock.acquire(exclusive=alone)
        try:
            WATCHDOG.mark_running(number)
            with observe_delivery(delivery):
                await call_next(msg)
        finally:
            self._shared.lock.release(exclusive=alone)


def _blocked_reason(strike: Strike) -> str:
    return (
        f"twice its event loop was blocked by this message, at {strike.where}, and the watchdog ended the process. "
        "The stack is in its log (ended_by_watchdog). Once the cause is fixed, try again"
    )


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


def _delay(delivery: Delivery) -> float:
    """Seconds until the next delivery, which grow with the number of deliveries."""
    return DELAYS[min(delivery.deliveries, len(DELAYS)) - 1]


def _nak_after(seconds: float) -> bytes:
    return f'-NAK {{"delay": {int(seconds * 1e9)}}}'.encode()
