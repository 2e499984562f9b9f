"""NATS in memory: the part of `shared.bus.Bus` that gateway, plan store and workers need within one process."""

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from typing import Any

from faststream.nats import NatsBroker

from parley.events.values import Artefact
from shared.bus import BusUnavailable, Delivery
from shared.log import StoredMessage
from shared.testing import InMemoryLog

Handler = Callable[[str, bytes], Awaitable[None]]
Responder = Callable[[str, bytes], Awaitable[bytes | None]]
Consumer = Callable[[Delivery], Awaitable[None]]


class FakeBus:
    """A bus in memory. `lossy`: the feed drops all messages. `down`: not connected.

    `answers` maps subjects to replies; `draft` is the reply to all requests without a responder.
    """

    def __init__(self) -> None:
        self.down = self.lossy = False
        self.log = FeedingLog(self)
        self.draft: bytes | None = None
        self.answers: dict[str, Callable[[bytes], bytes]] = {}
        self.objects: dict[str, bytes] = {}
        self.redeemed: set[str] = set()
        self.ended: set[str] = set()
        self.subscribed: list[tuple[str, Handler]] = []
        self._responders: list[tuple[str, Responder]] = []
        self._consumers: dict[str, Consumer] = {}
        self._reconnected: list[Callable[[], Awaitable[None]]] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self.broker = FakeBroker(self)

    @property
    def ready(self) -> bool:
        return not self.down

    async def connect(self) -> None: ...
    async def start(self) -> None: ...
    async def stop(self) -> None: ...

    def on_reconnect(self, callback: Callable[[], Awaitable[None]]) -> None:
        self._reconnected.append(callback)

    async def reconnect(self) -> None:
        for callback in self._reconnected:
            await callback()

    # --- requests

    async def answer(self, subject: str, handler: Responder, *, queue: str = "") -> None:
        self.respond(subject, handler)

    def respond(self, subject: str, handler: Responder) -> None:
        self._responders.append((subject, handler))

    async def request(self, subject: str, data: bytes, *, timeout: float = 5) -> bytes:  # noqa: ASYNC109
        if self.down:
            raise BusUnavailable("Not connected.")
        if subject in self.answers:
            return self.answers[subject](data)
        for pattern, handler in self._responders:
            if _fits(pattern, subject) and (reply := await handler(subject, data)) is not None:
                return reply
        if self.draft is None:
            raise BusUnavailable(f"No service answers on {subject}.")
        return self.draft

    # --- the object store, tickets and logouts

    async def keep(self, name: str, data: bytes) -> Artefact:
        self.objects[name] = data
        return Artefact(name=name, size=len(data), sha256=hashlib.sha256(data).hexdigest())

    async def fetch(self, name: str) -> bytes | None:
        if self.down:
            raise BusUnavailable("Not connected.")
        return self.objects.get(name)

    async def redeem(self, ticket_id: str) -> bool:
        if self.down:
            raise BusUnavailable("Not connected.")
        first = ticket_id not in self.redeemed
        self.redeemed.add(ticket_id)
        return first

    async def end_login(self, login_id: str) -> None:
        if self.down:
            raise BusUnavailable("Not connected.")
        self.ended.add(login_id)
        await self.publish(f"logout.{login_id}", b"")

    async def ended_logins(self) -> set[str]:
        if self.down:
            raise BusUnavailable("Not connected.")
        return set(self.ended)

    # --- messages

    async def subscribe(self, subject: str, handler: Handler) -> "_Subscription":
        if self.down:
            raise BusUnavailable("Not connected.")
        entry = (subject, handler)
        self.subscribed.append(entry)
        return _Subscription(lambda: self.subscribed.remove(entry))

    async def publish(self, subject: str, data: bytes) -> None:
        for pattern, handler in tuple(self.subscribed):
            if _fits(pattern, subject) and not (self.lossy and pattern.startswith("feed.")):
                await handler(subject, data)

    def consume(self, durable: str, handler: Consumer) -> None:
        """Deliver each message stored from now on once: all to the plan store, to a worker those that make it due."""
        self._consumers[durable] = handler

    def deliver(self, raw: StoredMessage) -> None:
        """Hand a stored message to the consumers and to the feed."""
        self._spawn(self.publish(f"feed.{raw.subject.removeprefix('session.')}", raw.data))
        delivery = Delivery(raw.subject, raw.data, raw.position, 1, raw.headers, raw.at)
        for durable, consumer in self._consumers.items():
            if durable in ("plan_store", raw.subject.split(".")[2]):
                self._spawn(consumer(delivery))

    def _spawn(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class FakeBroker(NatsBroker):
    """Declares subscribers on a bus in memory; never connected."""

    def __init__(self, bus: FakeBus) -> None:
        super().__init__(logger=None)
        self._bus = bus

    def subscriber(self, *, durable: str, **_: Any) -> Any:  # type: ignore[override]
        def declare(handler: Any) -> Any:
            self._bus.consume(durable, handler)
            return handler

        return declare

    def answer(self, subject: str, **_: Any) -> Any:
        def declare(answer: Any) -> Any:
            self._bus.respond(subject, answer)
            return answer

        return declare

    async def start(self) -> None: ...
    async def stop(self, *_: Any) -> None: ...


class FeedingLog(InMemoryLog):
    """A log whose stored messages are delivered on the bus."""

    def __init__(self, bus: FakeBus) -> None:
        super().__init__()
        self._bus = bus

    def publish(self, subject: str, data: bytes, headers: dict[str, str] | None = None) -> int:
        position = super().publish(subject, data, headers)
        self._bus.deliver(self.messages[-1])
        return position


class _Subscription:
    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop

    async def stop(self) -> None:
        self._stop()


def _fits(pattern: str, subject: str) -> bool:
    """Whether the subject matches a pattern with NATS's wildcards."""
    parts, tokens = pattern.split("."), subject.split(".")
    if parts[-1] == ">":
        parts, tokens = parts[:-1], tokens[: len(parts) - 1]
    return len(parts) == len(tokens) and all(part in ("*", token) for part, token in zip(parts, tokens, strict=True))
