"""The middleware around every delivery: which acknowledgement it sends for each result of the handler."""

import asyncio
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from faststream import ContextRepo
from faststream.nats import NatsMessage
from nats.aio.client import Client
from nats.aio.msg import Msg

from shared.bus.deliveries import delivery_of
from shared.bus.errors import BusUnavailable, Unprocessable
from shared.bus.middleware import DELAYS, Attempts, MiddlewareFactory
from shared.log import UpgradeNeeded
from shared.settings import Settings
from tests.support.timeouts import WAIT_TIMEOUT

STORED = 1_790_000_000_123_456_789  # nanoseconds


class Server:
    """A fake connection and record of attempts, or one that is down."""

    def __init__(self, attempts: int = 0, *, down: bool = False) -> None:
        self.answers: list[bytes] = []
        self.attempts = attempts
        self._down = down
        self.received = asyncio.Event()

    async def publish(self, _: str, body: bytes) -> None:
        self.answers.append(body)
        self.received.set()

    async def count(self, _: str) -> int:
        if self._down:
            raise BusUnavailable("away")
        return self.attempts

    async def add(self, _: str, attempts: int) -> None:
        if self._down:
            raise BusUnavailable("away")
        self.attempts += attempts


def message(server: Server, *, deliveries: int = 1, consumer: str = "planner", reply: str | None = None) -> NatsMessage:
    subject = f"$JS.ACK.SESSIONS.{consumer}.{deliveries}.7.9.{STORED}.0" if reply is None else reply
    raw = Msg(cast(Client, server), subject="session.a.planner.x", reply=subject, data=b"work", headers=None)
    nats_message = NatsMessage(raw, raw.data)

    async def decode(_: Any) -> Any:
        return delivery_of(raw) if raw.reply else raw.data

    nats_message.set_decoder(decode)
    return nats_message


Handler = Callable[[], Awaitable[None]]


class Process:
    """The middleware of one process."""

    def __init__(self, server: Server, **settings: Any) -> None:
        self._server = server
        self.deliveries = MiddlewareFactory(Settings(max_deliver=5, **settings), lambda: cast(Attempts, server))

    async def handle(self, handler: Handler, **delivery: Any) -> list[bytes]:
        """The acknowledgements that the middleware sends for a delivery to this handler."""

        async def call_next(_: Any) -> None:
            await handler()

        nats_message = message(self._server, **delivery)
        await self.deliveries(nats_message.raw_message, context=ContextRepo()).consume_scope(call_next, nats_message)
        return self._server.answers


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


async def test_a_handled_delivery_is_acknowledged() -> None:
    assert await Process(Server()).handle(done) == [b"+ACK"]


@pytest.mark.parametrize(("deliveries", "delay"), [*enumerate(DELAYS, start=1), (9, DELAYS[-1])])
async def test_a_failed_delivery_is_redelivered_after_increasing_delays(deliveries: int, delay: float) -> None:
    answers = await Process(Server()).handle(fails, deliveries=deliveries, consumer="plan_store")
    assert answers == [nak(delay)]


async def test_an_unprocessable_message_is_terminated_with_its_reason_in_one_line() -> None:
    async def unprocessable() -> None:
        raise Unprocessable("no event:\nnot at all" + "x" * 600)

    (answers,) = await Process(Server()).handle(unprocessable)
    assert answers.startswith(b"+TERM no event: not at all")
    assert len(answers) == 500


@pytest.mark.parametrize("consumer", ["planner", "plan_store"])
async def test_a_message_is_given_up_after_a_number_of_attempts(consumer: str) -> None:
    (answers,) = await Process(Server(attempts=4)).handle(never, deliveries=6, consumer=consumer)
    assert answers.startswith(b"+TERM given up after 5 attempts")
    assert await Process(Server(attempts=3)).handle(done, deliveries=6, consumer=consumer) == [b"+ACK"]


async def too_new() -> None:
    raise UpgradeNeeded("a newer one")


@pytest.mark.parametrize(
    ("handler", "consumer", "deliveries", "attempts"),
    [
        (done, "planner", 1, 0),  # the first attempt is not counted
        (done, "planner", 2, 1),
        (fails, "planner", 2, 1),
        (fails, "plan_store", 2, 0),
        (too_new, "planner", 2, 0),
        (too_new, "planner", 1, -1),
    ],
)
async def test_what_counts_as_an_attempt(handler: Handler, consumer: str, deliveries: int, attempts: int) -> None:
    server = Server()
    await Process(server).handle(handler, consumer=consumer, deliveries=deliveries)
    assert server.attempts == attempts


async def test_messages_that_ended_their_process_twice_are_handled_one_after_the_other() -> None:
    server, order, go = Server(attempts=1), list[str](), asyncio.Event()
    process = Process(server)

    async def suspect() -> None:
        order.append("begins")
        await go.wait()
        order.append("ends")

    running = [asyncio.create_task(process.handle(suspect, deliveries=3)) for _ in range(2)]
    await process.handle(done)
    for _ in range(20):  # more turns of the event loop than both would need to begin
        await asyncio.sleep(0)
    assert (order, server.attempts) == (["begins"], 2)
    go.set()
    await asyncio.gather(*running)
    assert order == ["begins", "ends", "begins", "ends"]


async def test_a_delivery_is_delayed_while_its_attempts_cannot_be_read() -> None:
    assert await Process(Server(down=True)).handle(never, deliveries=6) == [nak(DELAYS[-1])]


async def test_a_long_handler_sends_heartbeats_until_it_ends() -> None:
    server = Server()
    process = Process(server, ack_wait=0.3)

    async def long() -> None:
        for _ in range(2):
            server.received.clear()
            await asyncio.wait_for(server.received.wait(), WAIT_TIMEOUT)

    assert await process.handle(long) == [b"+WPI", b"+WPI", b"+ACK"]


@pytest.mark.parametrize("deliveries", [1, 2, 3])
async def test_a_cancelled_delivery_is_released_and_is_no_attempt(deliveries: int) -> None:
    server, started = Server(attempts=2), asyncio.Event()

    async def waits() -> None:
        started.set()
        await asyncio.Event().wait()

    task = asyncio.create_task(Process(server).handle(waits, deliveries=deliveries))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (server.answers, server.attempts) == ([b"-NAK"], 2)


async def test_a_message_that_needs_no_acknowledgement_gets_none() -> None:
    server = Server()
    with pytest.raises(ValueError, match="broken"):
        await Process(server).handle(fails, reply="_INBOX.x")
    assert server.answers == []
