"""Support for tests of the bus: a handler that records its deliveries, and raw access to the server."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from nats.js.api import ConsumerInfo
from nats.js.errors import NotFoundError

from shared.bus import Bus, Delivery
from shared.bus.deliveries import Handler
from shared.settings import Settings
from tests.support.timeouts import WAIT_TIMEOUT

PLANNER = "session.a.planner.x"


class Inbox:
    """A handler that records its deliveries in order, and then calls `do`."""

    def __init__(self, do: Callable[[Delivery], Any] | None = None) -> None:
        self.got: list[Delivery] = []
        self.times: list[float] = []
        self._do = do
        self._changed = asyncio.Event()

    async def __call__(self, delivery: Delivery) -> None:
        self.got.append(delivery)
        self.times.append(time.monotonic())
        self._changed.set()
        if self._do:
            await self._do(delivery)

    @property
    def bodies(self) -> list[bytes]:
        return [delivery.data for delivery in self.got]

    async def until(self, count: int) -> None:
        async with asyncio.timeout(WAIT_TIMEOUT):
            while len(self.got) < count:
                self._changed.clear()
                await self._changed.wait()


@asynccontextmanager
async def consuming(settings: Settings, handler: Handler, **options: Any) -> AsyncIterator[Bus]:
    """The bus of a consumer that runs until the block ends, by default a replica of the planner."""
    bus = Bus(settings, "replica")
    bus.broker.subscriber(durable=options.pop("durable", "planner"), **options)(handler)
    await bus.start()
    try:
        yield bus
    finally:
        await bus.stop()


async def store(bus: Bus, *bodies: bytes, subject: str = PLANNER) -> None:
    for body in bodies:
        await bus.client.jetstream().publish(subject, body, stream="SESSIONS", timeout=WAIT_TIMEOUT)


async def api(bus: Bus, subject: str, request: object) -> Any:
    return json.loads(
        (await bus.client.request(f"$JS.API.{subject}", json.dumps(request).encode(), timeout=WAIT_TIMEOUT)).data
    )


async def until_counted(bus: Bus, messages: int) -> ConsumerInfo:
    """Wait until the planner's consumer counts these messages: the stream acknowledges them some time earlier."""
    async with asyncio.timeout(WAIT_TIMEOUT):
        while True:  # each check is a request
            info: ConsumerInfo = await bus.client.jetstream().consumer_info("SESSIONS", "planner")
            if (info.num_pending or 0) + (info.num_ack_pending or 0) >= messages:
                return info


async def until_idle(bus: Bus, durable: str = "planner") -> None:
    """Wait until the consumer has delivered the newest message, and has no pending acknowledgement."""
    stream = bus.client.jetstream()
    config = (await stream.consumer_info("SESSIONS", durable)).config
    newest = [await _newest(bus, subject) for subject in config.filter_subjects or [config.filter_subject or ">"]]
    async with asyncio.timeout(WAIT_TIMEOUT):
        while True:  # each check is a request
            info = await stream.consumer_info("SESSIONS", durable)
            delivered = info.delivered.stream_seq if info.delivered else 0
            if not info.num_pending and not info.num_ack_pending and delivered >= max(newest):
                return


async def _newest(bus: Bus, subject: str) -> int:
    """The position of the subject's newest message; 0 if there is none."""
    try:
        return (await bus.client.jetstream().get_last_msg("SESSIONS", subject)).seq or 0
    except NotFoundError:
        return 0
