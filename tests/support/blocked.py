"""A service that blocks its event loop, for tests of the watchdog: `python -m tests.support.blocked`.

It consumes the planner's messages. A message names a way of blocking, or is `innocent`: that one waits without end at
its first delivery, and completes at its second. The service publishes `delta.began.<words>` and `delta.done.<words>`,
as a planner may.
"""

import asyncio
import re
import time

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


async def serve(stop: asyncio.Event) -> None:
    bus = Bus(Settings(), "planner")

    async def handle(delivery: Delivery) -> None:
        words = delivery.data.decode()
        await bus.publish(f"delta.began.{words}", str(delivery.deliveries).encode())
        await bus.client.flush()
        if words.startswith("innocent") and delivery.deliveries == 1:
            await asyncio.Event().wait()
        block(words)
        await bus.publish(f"delta.done.{words}", str(delivery.deliveries).encode())

    bus.broker.subscriber(durable="planner")(handle)
    await bus.start()
    log.info("ready")
    await stop.wait()
    await bus.stop()


if __name__ == "__main__":
    run("planner", Settings(), serve)
