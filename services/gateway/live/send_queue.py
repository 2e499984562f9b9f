"""The bounded queue of messages to one client: a slow client loses its connection and does not slow down others."""

import asyncio
from collections import deque
from typing import NamedTuple

from services.gateway.access.quota import Quota
from services.gateway.commands import ApprovalTarget

MAX_MESSAGES, MAX_BYTES = 2_000, 2 * 1024 * 1024  # of one client's queue
DRAINED_MESSAGES, DRAINED_BYTES = (
    100,
    256 * 1024,
)  # with more waiting, the client's own messages are not read


class OutgoingMessage(NamedTuple):
    """One message as JSON, and what it shows for approval. A newer snapshot replaces a queued older one."""

    body: bytes
    session_id: str
    shows: ApprovalTarget | None = None
    snapshot: bool = False


class SendQueue:
    """A queue with one reader. Once it has overflowed it accepts nothing more, as the client would miss messages."""

    def __init__(self, quota: Quota, *, messages: int = MAX_MESSAGES, size: int = MAX_BYTES) -> None:
        self.overflowed = asyncio.Event()
        self.size = 0  # bytes that wait, including the message that is being sent
        self._quota = quota
        self._messages, self._limit = messages, size
        self._waiting: deque[OutgoingMessage] = deque()
        self._sending = 0
        self._arrived = asyncio.Event()
        self._drained = asyncio.Event()
        self._drained.set()

    def put(self, message: OutgoingMessage) -> None:
        """Add a message without waiting, or overflow. One message of any size fits into an empty queue."""
        if message.snapshot:
            self._drop_snapshots(message.session_id)
        if len(self._waiting) >= self._messages:
            self.overflow()
        if self.reserve(len(message.body)):
            self._waiting.append(message)
            self._arrived.set()
            self._update_drained()

    def reserve(self, size: int) -> bool:
        """Count so many more waiting bytes, until `release`. Returns False if the queue has overflowed."""
        if self.overflowed.is_set() or self.size - self._sending > self._limit:
            self.overflow()
            return False
        self.size += size
        self._quota.add_unread(self, size)
        return not self.overflowed.is_set()

    def release(self, size: int) -> None:
        if not self.overflowed.is_set():
            self.size -= size
            self._quota.remove_unread(self, size)

    def overflow(self) -> None:
        """Drop everything and end the connection."""
        self.overflowed.set()
        self._waiting.clear()
        self._drained.set()
        size, self.size = self.size, 0
        self._quota.remove_unread(self, size)

    @property
    def is_empty(self) -> bool:
        return not self._waiting

    async def get(self) -> OutgoingMessage:
        """The next message. The caller has sent the one before it."""
        self._finish_sending()
        while not self._waiting:
            self._arrived.clear()
            await self._arrived.wait()
        message = self._waiting.popleft()
        self._sending = len(message.body)
        self._update_drained()
        return message

    def close(self) -> None:
        """Drop everything: there is no reader any more."""
        self.overflow()

    async def wait_until_drained(self) -> None:
        """Wait until the client has read most of what waits for it."""
        await self._drained.wait()

    def _finish_sending(self) -> None:
        size, self._sending = self._sending, 0
        self.release(size)
        self._update_drained()

    def _drop_snapshots(self, session_id: str) -> None:
        for message in [waiting for waiting in self._waiting if waiting.snapshot and waiting.session_id == session_id]:
            self._waiting.remove(message)
            self.release(len(message.body))

    def _update_drained(self) -> None:
        if len(self._waiting) > DRAINED_MESSAGES or self.size > DRAINED_BYTES:
            self._drained.clear()
        else:
            self._drained.set()
