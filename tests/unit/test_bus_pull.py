"""How the bus requests a durable consumer's messages, without a server."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, cast

import pytest
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import OutboundBufferLimitError
from nats.js import JetStreamContext

from shared.bus import Bus, Delivery, subscribers
from shared.bus.broker import Broker
from shared.settings import Settings
from tests.support.timeouts import WAIT_TIMEOUT

SLOTS = 4


class Server:
    """A fake NATS connection: the test reads the pull requests and delivers the messages. Every consumer exists."""

    is_connected = True

    def __init__(self) -> None:
        self.requested: asyncio.Queue[int] = asyncio.Queue()
        self.acknowledged: list[bytes] = []
        self.fails: list[Exception] = []  # raised by the next pull requests
        self.deliver: Callable[[Msg], Awaitable[None]] | None = None
        self.drained: Callable[[], Awaitable[None]] | None = None

    def new_inbox(self) -> str:
        return "_INBOX.x"

    async def subscribe(self, _: str, *, cb: Callable[[Msg], Awaitable[None]]) -> "Server":
        self.deliver = cb
        return self

    async def drain(self) -> None:
        if self.drained:
            await self.drained()

    async def publish(self, subject: str, body: bytes, *, reply: str = "") -> None:
        if reply and self.fails:
            raise self.fails.pop()
        if reply:
            assert subject == "$JS.API.CONSUMER.MSG.NEXT.SESSIONS.planner"
            self.requested.put_nowait(json.loads(body)["batch"])
        else:
            self.acknowledged.append(body)

    def jetstream(self) -> "Server":
        return self

    async def consumer_info(self, *_: str) -> None: ...

    async def message(self, number: int) -> None:
        reply = f"$JS.ACK.SESSIONS.planner.1.{number}.{number}.1790000000000000000.0"
        assert self.deliver
        await self.deliver(Msg(cast(Client, self), subject="session.a.planner.x", reply=reply, data=b"work"))

    async def status(self, code: str) -> None:
        assert self.deliver
        await self.deliver(Msg(cast(Client, self), subject="_INBOX.x", data=b"", headers={"Status": code}))

    async def next_request(self) -> int:
        return await asyncio.wait_for(self.requested.get(), WAIT_TIMEOUT)


class Work:
    """A handler whose calls end when the test releases `ends`."""

    def __init__(self, server: Server, broker: Broker) -> None:
        self.server, self.broker = server, broker
        self.ends = asyncio.Semaphore(0)
        self.started: asyncio.Queue[int] = asyncio.Queue()

    async def __call__(self, delivery: Delivery) -> None:
        self.started.put_nowait(delivery.position)
        await self.ends.acquire()

    async def start_deliveries(self, *numbers: int) -> None:
        for number in numbers:
            await self.server.message(number)
            assert await asyncio.wait_for(self.started.get(), WAIT_TIMEOUT) == number


@pytest.fixture
async def work(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Work]:
    server = Server()
    bus = Bus(Settings(graceful_timeout=0), "planner")
    bus._client = cast(Client, server)
    broker = bus.broker
    work = Work(server, broker)
    broker.subscriber(durable="planner", limit=SLOTS)(work)

    async def connect() -> None:
        broker.config.connection_state.connect(cast(Client, server), cast(JetStreamContext, server))
        broker._setup_logger()

    async def readable() -> None: ...

    monkeypatch.setattr(broker, "connect", connect)
    monkeypatch.setattr(bus, "wait_until_readable", readable)
    await broker.start()
    yield work
    await broker.stop()


async def check_no_request(server: Server) -> None:
    for _ in range(20):  # more turns of the event loop than a request would need
        await asyncio.sleep(0)
    assert server.requested.empty()


async def test_it_pulls_as_many_messages_as_can_start(work: Work) -> None:
    assert await work.server.next_request() == SLOTS
    await work.start_deliveries(1, 2, 3, 4)
    await check_no_request(work.server)
    work.ends.release()
    assert await work.server.next_request() == 1


async def test_one_request_is_open_at_a_time(work: Work) -> None:
    assert await work.server.next_request() == SLOTS
    await work.start_deliveries(1)
    work.ends.release()
    await check_no_request(work.server)
    await work.start_deliveries(2, 3, 4)
    assert await work.server.next_request() == 1, "what the one request brought runs, but for what has ended"


async def test_a_request_without_an_answer_counts_as_lost(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    assert await work.server.next_request() == SLOTS
    monkeypatch.setattr("shared.bus.subscribers.PULL_TIMEOUT", 0)
    monkeypatch.setattr("shared.bus.subscribers.EXPIRY_MARGIN", 0.01)
    await work.server.status("408")
    assert await work.server.next_request() == SLOTS, "the 408"
    assert await work.server.next_request() == SLOTS, "no answer"


async def test_a_message_of_a_lost_request_is_released_while_all_slots_are_taken(work: Work) -> None:
    assert await work.server.next_request() == SLOTS
    await work.start_deliveries(1, 2, 3, 4)
    await work.server.message(5)
    assert work.server.acknowledged == [b"-NAK"]
    assert work.started.empty()


async def test_an_ended_pull_request_is_renewed(work: Work) -> None:
    assert await work.server.next_request() == SLOTS
    await work.start_deliveries(1)
    await work.server.status("408")
    assert await work.server.next_request() == SLOTS - 1


async def test_a_refused_pull_request_is_renewed_after_a_pause(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    sleep = asyncio.sleep

    async def paused(seconds: float, *_: Any) -> None:
        pauses.append(seconds)
        await sleep(0)

    assert await work.server.next_request() == SLOTS
    monkeypatch.setattr("shared.bus.subscribers.asyncio.sleep", paused)
    for status in ("503", "409"):
        await work.server.status(status)
        assert await work.server.next_request() == SLOTS
    assert pauses[-2:] == [0.25, 0.25]


async def test_it_pulls_at_once_after_a_reconnection_and_not_while_disconnected(work: Work) -> None:
    assert await work.server.next_request() == SLOTS
    work.server.is_connected = False
    await work.server.status("408")
    await check_no_request(work.server)
    work.server.is_connected = True
    await work.broker._reconnected()
    assert await work.server.next_request() == SLOTS


async def test_messages_that_arrive_during_shutdown_are_released(work: Work) -> None:
    assert await work.server.next_request() == SLOTS
    work.server.drained = lambda: work.server.message(1)
    await work.broker.stop()
    assert work.server.acknowledged == [b"-NAK"]
    assert work.started.empty()


async def test_a_pull_request_that_cannot_be_sent_is_sent_again(work: Work, monkeypatch: pytest.MonkeyPatch) -> None:
    assert await work.server.next_request() == SLOTS
    monkeypatch.setattr(subscribers, "PULL_TIMEOUT", 0)
    monkeypatch.setattr(subscribers, "EXPIRY_MARGIN", 0)
    work.server.fails.append(OutboundBufferLimitError())
    await work.server.status("408")
    assert await work.server.next_request() == SLOTS
