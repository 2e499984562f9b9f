"""What is on its way to one client: bounded, so that a slow one costs it its socket and nobody else anything."""

import asyncio
from collections import deque
from typing import NamedTuple

from services.gateway.access.quota import Quota
from services.gateway.commands import Shown

MAX_MESSAGES, MAX_SIZE = 2_000, 2 * 1024 * 1024  # size in bytes
CALM, CALM_SIZE = 100, 256 * 1024  # with more than this waiting, nothing more is read or heard for this client


class OutgoingMessage(NamedTuple):
    """One message as JSON, and what it puts before the person's eyes. A newer snapshot takes an older one's place."""

    body: bytes
    session_id: str
    shows: Shown | None = None
    snapshot: bool = False


class Outbox:
    """A queue with one reader. Once it overflows it takes nothing more: the client would see a hole."""

    def __init__(self, quota: Quota, *, messages: int = MAX_MESSAGES, size: int = MAX_SIZE) -> None:
        self.overflowed = asyncio.Event()
        self.size = 0  # bytes that wait, with those of the message that is being sent
        self._quota = quota
        self._messages, self._limit = messages, size
        self._waiting: deque[OutgoingMessage] = deque()
        self._sending = 0
        self._arrived = asyncio.Event()
        self._calm = asyncio.Event()
        self._calm.set()

    def put(self, message: OutgoingMessage) -> None:
        """Never waits. Where too much waits already, it overflows; one message of any size fits an empty outbox."""
        if message.snapshot:
            self._drop_snapshots(message.session_id)
        if len(self._waiting) >= self._messages:
            self.overflow()
        if self.hold(len(message.body)):
            self._waiting.append(message)
            self._arrived.set()
            self._look()

    def hold(self, size: int) -> bool:
        """Count so many more bytes that wait for this client, until `release`; False where that is too much."""
        if self.overflowed.is_set() or self.size - self._sending > self._limit:
            self.overflow()
            return False
        self.size += size
        self._quota.hold(self, size)
        return not self.overflowed.is_set()

    def release(self, size: int) -> None:
        if not self.overflowed.is_set():
            self.size -= size
            self._quota.release(self, size)

    def overflow(self) -> None:
        """Drop everything: the connection ends."""
        self.overflowed.set()
        self._waiting.clear()
        self._calm.set()
        size, self.size = self.size, 0
        self._quota.release(self, size)

    @property
    def empty(self) -> bool:
        return not self._waiting

    async def get(self) -> OutgoingMessage:
        """The next message; the one before it has been sent."""
        self._sent()
        while not self._waiting:
            self._arrived.clear()
            await self._arrived.wait()
        message = self._waiting.popleft()
        self._sending = len(message.body)
        self._look()
        return message

    def close(self) -> None:
        """Nobody takes anything any more."""
        self.overflow()

    async def calm(self) -> None:
        """Wait until the client has taken most of what waits for it."""
        await self._calm.wait()

    def _sent(self) -> None:
        size, self._sending = self._sending, 0
        self.release(size)
        self._look()

    def _drop_snapshots(self, session_id: str) -> None:
        for message in [one for one in self._waiting if one.snapshot and one.session_id == session_id]:
            self._waiting.remove(message)
            self.release(len(message.body))

    def _look(self) -> None:
        if len(self._waiting) > CALM or self.size > CALM_SIZE:
            self._calm.clear()
        else:
            self._calm.set()
