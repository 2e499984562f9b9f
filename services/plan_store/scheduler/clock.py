"""When the keeper acts: by the broker's clock, whatever this machine's says, and again and again."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime, timedelta

import structlog

from shared.unavailable import Unavailable

log = structlog.get_logger("keeper")

TOLERANCE = timedelta(minutes=1)  # between the two clocks, before nothing is done by them


def wall_clock() -> datetime:
    return datetime.now(UTC)


async def repeat(name: str, work: Callable[[], Awaitable[None]], *, seconds: float) -> None:
    """Do the work every so many seconds until cancelled. After an error it is tried again at the next time."""
    while True:
        await asyncio.sleep(seconds)
        try:
            await work()
        except Unavailable as error:
            log.warning(f"{name}_put_off", error=str(error)[:500])
        except Exception:
            log.exception(f"{name}_failed")


class BrokerClock:
    """The time of the broker's newest answer, plus the seconds since. This machine's clock until there is one."""

    def __init__(self, wall: Callable[[], datetime] = wall_clock) -> None:
        self._wall = wall
        self._at: datetime | None = None  # the broker's newest answer
        self._observed_at = 0.0  # by `time.monotonic`, which no change of a clock moves

    def observe(self, at: datetime) -> None:
        """Set the clock by a time that the broker has just stated."""
        self._at, self._observed_at = at, time.monotonic()

    def observe_past(self, at: datetime) -> None:
        """Move the clock forward to a time that the broker has passed, never back: `at` may be long ago."""
        if at > self._broker():
            self.observe(at)

    def now(self) -> datetime:
        """The broker's time. While both clocks differ, the earlier one: nothing ends before its time by either."""
        broker, wall = self._broker(), self._wall()
        return broker if abs(wall - broker) <= TOLERANCE else min(broker, wall)

    @property
    def problem(self) -> str:
        """How this machine's clock differs from the broker's, and what to do; "" if it does not."""
        ahead = self._wall() - self._broker()
        if abs(ahead) <= TOLERANCE:
            return ""
        differs = f"{abs(ahead).total_seconds():.0f} s {'ahead of' if ahead > timedelta() else 'behind'}"
        return (
            f"the clock of plan_store's machine is {differs} that of NATS: set both by NTP. Until then no overdue "
            "approval, wait or lost work is looked for"
        )

    def _broker(self) -> datetime:
        if self._at is None:
            return self._wall()
        return self._at + timedelta(seconds=time.monotonic() - self._observed_at)
