"""A subscriber stops waiting for a slow server, and the connection stays open."""

import asyncio
from contextlib import suppress

from shared.bus import Bus
from tests.support.nats import NatsServer, frozen
from tests.support.timeouts import WAIT_TIMEOUT


async def test_a_cancelled_wait_for_a_slow_server_keeps_the_connection(nats: NatsServer, bus: Bus) -> None:
    received, lost = asyncio.Event(), asyncio.Event()

    async def listen(_: str, __: bytes) -> None:
        received.set()

    async def reconnected() -> None:
        lost.set()

    bus.on_reconnect(reconnected)
    with frozen(nats):
        with suppress(TimeoutError):  # as when a client leaves while its session is being opened
            await asyncio.wait_for(bus.subscribe("some.thing", listen), 0.2)
        subscription = await bus.subscribe("another.thing", listen)  # returns after its own timeout
    async with asyncio.timeout(WAIT_TIMEOUT):
        await bus.client.flush(timeout=10)  # the server answers the two subscriptions first
    await bus.publish("another.thing", b"")
    async with asyncio.timeout(WAIT_TIMEOUT):
        await received.wait()
    assert bus.ready
    assert not lost.is_set()
    await subscription.stop()
