"""The middleware around every delivery: what the server is told, whatever a handler does."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from faststream import ContextRepo
from faststream.nats import NatsMessage
from nats.aio.client import Client
from nats.aio.msg import Msg

from shared.bus.consuming import delivery_of
from shared.bus.errors import BusDown, Park
from shared.bus.middleware import DELAYS, Deliveries
from shared.bus.strikes import Strike, Strikes
from shared.log import UpgradeNeeded
from shared.settings import Settings

STORED = 1_790_000_000_123_456_789  # nanoseconds


class Server:
    """What a connection sends, and the strikes that the server has recorded."""

    def __init__(self, strike: Strike | None = None, *, down: bool = False) -> None:
        self.told: list[bytes] = []
        self.put_offs: list[str] = []
        self._strike, self._down = strike, down
        self.heard = asyncio.Event()

    async def publish(self, _: str, body: bytes) -> None:
        self.told.append(body)
        self.heard.set()

    async def of(self, _: str) -> Strike | None:
        if self._down:
            raise BusDown("away")
        return self._strike

    async def put_off(self, reply: str) -> None:
        self.put_offs.append(reply)


def message(server: Server, *, deliveries: int = 1, consumer: str = "planner", reply: str | None = None) -> NatsMessage:
    subject = f"$JS.ACK.SESSIONS.{consumer}.{deliveries}.7.9.{STORED}.0" if reply is None else reply
    raw = Msg(cast(Client, server), subject="session.a.planner.x", reply=subject, data=b"work", headers=None)
    made = NatsMessage(raw, raw.data)

    async def decode(_: Any) -> Any:
        return delivery_of(raw) if raw.reply else raw.data

    made.set_decoder(decode)
    return made


Handler = Callable[[], Awaitable[None]]


class Process:
    """A process's middleware, with short times."""

    def __init__(self, server: Server, **settings: Any) -> None:
        self._server = server
        self.deliveries = Deliveries(Settings(max_deliver=5, **settings), lambda: cast(Strikes, server))

    async def handle(self, handler: Handler, **delivery: Any) -> list[bytes]:
        """What the server is told of a delivery that this handler is given."""

        async def call_next(_: Any) -> None:
            await handler()

        one = message(self._server, **delivery)
        await self.deliveries(one.raw_message, context=ContextRepo()).consume_scope(call_next, one)
        return self._server.told


async def done() -> None: ...


async def fails() -> None:
    raise ValueError("broken")


async def never() -> None:
    raise AssertionError("it was run")


def nak(seconds: float) -> bytes:
    return b'-NAK {"delay": %d}' % int(seconds * 1e9)


def test_a_delivery_is_read_from_its_acknowledgement_subject() -> None:
    for subject in (
        f"$JS.ACK.SESSIONS.planner.3.7.9.{STORED}.0",
        f"$JS.ACK.hub.hash.SESSIONS.planner.3.7.9.{STORED}.0.token",
    ):
        delivery = delivery_of(message(Server(), reply=subject).raw_message)
        assert (delivery.consumer, delivery.deliveries, delivery.position) == ("planner", 3, 7)
        assert delivery.at == datetime(2026, 9, 21, 14, 13, 20, 123456, UTC)


async def test_what_is_done_is_acknowledged() -> None:
    assert await Process(Server()).handle(done) == [b"+ACK"]


@pytest.mark.parametrize(("deliveries", "delay"), [*enumerate(DELAYS, start=1), (9, DELAYS[-1])])
async def test_what_fails_comes_again_after_growing_delays(deliveries: int, delay: float) -> None:
    told = await Process(Server()).handle(fails, deliveries=deliveries, consumer="plan_store")
    assert told == [nak(delay)]


async def test_what_can_never_be_handled_is_parked_with_its_reason_in_one_line() -> None:
    async def parks() -> None:
        raise Park("no event:\nnot at all" + "x" * 600)

    (told,) = await Process(Server()).handle(parks)
    assert told.startswith(b"+TERM no event: not at all")
    assert len(told) == 500


async def test_a_worker_has_so_many_tries_and_a_projection_any_number() -> None:
    (told,) = await Process(Server()).handle(never, deliveries=6)
    assert told.startswith(b"+TERM given up after 5 deliveries")
    assert await Process(Server()).handle(done, deliveries=6, consumer="plan_store") == [b"+ACK"]


async def test_what_was_left_to_a_newer_release_was_not_tried() -> None:
    async def too_new() -> None:
        raise UpgradeNeeded("a newer one")

    server = Server()
    assert await Process(server).handle(too_new) == [nak(DELAYS[0])]
    assert server.put_offs == [f"$JS.ACK.SESSIONS.planner.1.7.9.{STORED}.0"]
    put_off = Strike(count=0, where="", at=datetime.now(UTC), put_off=5)
    assert await Process(Server(put_off)).handle(done, deliveries=6) == [b"+ACK"]


async def test_two_strikes_end_a_message_before_it_is_run() -> None:
    struck = Strike(count=2, where="app.py:1", at=datetime.now(UTC))
    (told,) = await Process(Server(struck)).handle(never, deliveries=3)
    assert told.startswith(b"+TERM twice its event loop was blocked by this message, at app.py:1")


async def test_a_message_with_a_strike_waits_until_it_is_alone() -> None:
    server, order = Server(Strike(count=1, where="x", at=datetime.now(UTC))), list[str]()
    process, begun, go = Process(server), asyncio.Event(), asyncio.Event()

    async def slow() -> None:
        begun.set()
        await go.wait()
        order.append("first")

    async def alone() -> None:
        order.append("alone")

    running = asyncio.create_task(process.handle(slow))
    await begun.wait()
    struck = asyncio.create_task(process.handle(alone, deliveries=2))
    for _ in range(20):  # more often than it would need to begin
        await asyncio.sleep(0)
    go.set()
    await asyncio.gather(running, struck)
    assert order == ["first", "alone"]


async def test_strikes_that_cannot_be_read_put_the_delivery_off() -> None:
    assert await Process(Server(down=True)).handle(never, deliveries=2) == [nak(DELAYS[1])]


async def test_a_handler_that_takes_long_sends_heartbeats_until_it_ends() -> None:
    server = Server()
    process = Process(server, ack_wait=0.3)

    async def long() -> None:
        for _ in range(2):
            server.heard.clear()
            await asyncio.wait_for(server.heard.wait(), 20)

    assert await process.handle(long) == [b"+WPI", b"+WPI", b"+ACK"]


async def test_what_is_cancelled_is_handed_over() -> None:
    server, begun = Server(), asyncio.Event()

    async def waits() -> None:
        begun.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(Process(server).handle(waits))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert server.told == [b"-NAK"]


async def test_what_needs_no_acknowledgement_is_left_alone() -> None:
    server = Server()
    with pytest.raises(ValueError, match="broken"):
        await Process(server).handle(fails, reply="_INBOX.x")
    assert server.told == []
