"""Trouble: servers, services and models that go away, come back, answer nonsense or are killed in the middle."""

import asyncio
import os
import signal
import time

import pytest

from cli.nats_server import NatsServer
from shared.bus import Bus, BusDown, Delivery
from shared.settings import Settings
from tests.support.inbox import Inbox, consuming, settled, store

AWAY = 11.0  # seconds


async def test_a_server_killed_in_the_middle_of_work(settings: Settings, nats: NatsServer, bus: Bus) -> None:
    go, ended = asyncio.Event(), asyncio.Event()

    async def works(delivery: Delivery) -> None:
        if delivery.data == b"first":
            await go.wait()
            ended.set()

    inbox, back = Inbox(works), asyncio.Event()

    async def returned() -> None:
        back.set()

    bus.on_reconnect(returned)
    async with consuming(settings, inbox):
        await store(bus, b"first")
        await inbox.until(1)
        nats.kill9()
        await asyncio.to_thread(nats.restart)
        restarted = time.monotonic()
        go.set()
        await asyncio.wait_for(ended.wait(), 5)
        await asyncio.wait_for(back.wait(), 5)
        await store(bus, b"second")
        async with asyncio.timeout(10):
            while b"second" not in inbox.bodies:
                await inbox.until(len(inbox.got) + 1)
        resumed = time.monotonic() - restarted
        await settled(bus)
    assert resumed < 2.5
    assert inbox.bodies.count(b"second") == 1


async def test_a_server_that_is_away_for_long(settings: Settings, nats: NatsServer, bus: Bus) -> None:
    """Longer than it takes to notice a dead peer."""
    inbox, back = Inbox(), asyncio.Event()

    async def returned() -> None:
        back.set()

    bus.on_reconnect(returned)
    async with consuming(settings, inbox):
        await store(bus, b"before")
        await inbox.until(1)
        await settled(bus)
        nats.kill9()
        busy = time.process_time()
        await asyncio.sleep(AWAY)
        assert time.process_time() - busy < AWAY / 4, "waiting costs next to nothing"
        await asyncio.to_thread(nats.restart)
        await asyncio.wait_for(back.wait(), 5)
        await store(bus, b"after")
        async with asyncio.timeout(5):
            while b"after" not in inbox.bodies:
                await inbox.until(len(inbox.got) + 1)


async def test_a_frozen_server_is_noticed_by_requests_at_once(nats: NatsServer, bus: Bus) -> None:
    os.kill(nats.pid, signal.SIGSTOP)
    try:
        with pytest.raises(BusDown):
            await bus.request("x", b"", timeout=0.2)
    finally:
        os.kill(nats.pid, signal.SIGCONT)


async def test_leaving_while_the_server_is_away(settings: Settings, nats: NatsServer, bus: Bus) -> None:
    async def stubborn(_: Delivery) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.Event().wait()  # last words that nobody can take down

    inbox = Inbox(stubborn)
    replica = Bus(settings.model_copy(update={"graceful_timeout": 0.1}), "leaving")
    replica.consume("planner", inbox)
    await replica.start()
    await store(bus, b"work")
    await inbox.until(1)
    nats.kill9()
    async with asyncio.timeout(6):
        await replica.stop()
