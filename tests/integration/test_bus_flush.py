"""A server that answers late, and a subscriber that does not wait for it: the connection stays."""

import asyncio
import os
import signal
from contextlib import suppress

from cli.nats_server import NatsServer
from shared.bus import Bus


async def test_who_stops_waiting_for_a_late_server_keeps_the_connection(nats: NatsServer, bus: Bus) -> None:
    heard, lost = asyncio.Event(), asyncio.Event()

    async def listen(_: str, __: bytes) -> None:
        heard.set()

    async def reconnected() -> None:
        lost.set()

    bus.on_reconnect(reconnected)
    os.kill(nats.pid, signal.SIGSTOP)
    try:
        with suppress(TimeoutError):  # as when a client leaves while its session is being opened
            await asyncio.wait_for(bus.subscribe("some.thing", listen), 0.2)
        late = await bus.subscribe("another.thing", listen)  # which gives up by itself
    finally:
        os.kill(nats.pid, signal.SIGCONT)
    async with asyncio.timeout(10):
        await bus.client.flush(timeout=10)  # answered after both of the others were
    await bus.publish("another.thing", b"")
    async with asyncio.timeout(10):
        await heard.wait()
    assert bus.ready
    assert not lost.is_set()
    await late.stop()
