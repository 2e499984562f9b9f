"""Programs whose event loop is blocked, for tests of the watchdog.

    python -m tests.support.blocked WAY MODULE    runs this module, and blocks its loop once the watchdog watches it
    python -m tests.support.blocked               consumes the planner's messages: one that says `regex` blocks it

The second publishes each message that it has handled as `delta.done.x`, as a planner may.
"""

import asyncio
import re
import runpy
import signal
import sys
import time
from types import FrameType

import structlog

from shared.bus import Bus, Delivery
from shared.settings import Settings
from shared.worker.run import run

log = structlog.get_logger("blocked")


def block(how: str) -> None:
    """Block for longer than any test takes."""
    match how:
        case "regex":  # Python's signal handlers still run
            re.fullmatch("(a+)+$", "a" * 60 + "b")
        case "sum":  # C code that runs no signal handlers and keeps the GIL
            sum(range(10**12))
        case "sleep":  # uses no CPU
            time.sleep(1000)


def run_until_blocked(way: str, module: str) -> None:
    """Signals are handled in the thread of the event loop, between two of its steps."""

    def block_if_watched(_: int, __: FrameType | None) -> None:
        if signal.getitimer(signal.ITIMER_PROF)[0]:
            block(way)

    signal.signal(signal.SIGALRM, block_if_watched)
    signal.setitimer(signal.ITIMER_REAL, 0.1, 0.1)
    runpy.run_module(module, run_name="__main__")


async def serve(stop: asyncio.Event) -> None:
    bus = Bus(Settings(), "planner")

    async def handle(delivery: Delivery) -> None:
        words = delivery.data.decode()
        block(words)
        await bus.publish("delta.done.x", words.encode())

    bus.broker.subscriber(durable="planner")(handle)
    await bus.start()
    log.info("ready")
    await stop.wait()
    await bus.stop()


if __name__ == "__main__":
    if sys.argv[1:]:
        run_until_blocked(*sys.argv[1:])
    else:
        run("planner", Settings(), serve)
