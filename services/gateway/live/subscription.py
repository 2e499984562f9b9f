"""What one client gets: its subscription to a session, and the bounded queue of messages to it.

Every event once and in order, first from history, then live. A slow client loses its connection and does not slow down
others.
"""

import asyncio
from collections import deque
from typing import NamedTuple

from services.gateway.access.quota import Quota
from services.gateway.access.users import User
from services.gateway.live.audience import Audience, EventMessages, Protocol
from services.gateway.live.channel import SessionChannel
from services.gateway.messages.commands import ApprovalTarget
from shared.domain.kernel.session import Session

MAX_HELD_BACK = 5_000  # messages, while history is sent
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


class ChannelSubscription:
    """While paused it holds back live messages; live, it goes on where history ended.

    It sends nothing while its user may not read the session: a user who subscribed to an unused id does not see the
    session that another user begins under it.
    """

    def __init__(self, user: User, channel: SessionChannel, queue: SendQueue, protocol: Protocol = 1) -> None:
        self.channel = channel
        self._protocol = protocol
        self._user, self._queue = user, queue
        self._sent = 0
        self._held_back: list[EventMessages | bytes] = []
        self._live = False
        channel.listeners.add(self)

    def audience(self, session: Session) -> Audience:
        return Audience.of(self._user, session, self._protocol)

    def pause(self) -> None:
        self._live = False

    def go_live(self, version: int) -> None:
        """Go live after `version`. Messages held back up to it have been sent already."""
        self._live, self._sent = True, version
        for item in self._take_held_back():
            self._send(item)

    def discard(self) -> None:
        """Discard what was held back."""
        self._take_held_back()

    def on_event(self, messages: EventMessages) -> None:
        self._receive(messages)

    def on_delta(self, body: bytes) -> None:
        self._receive(body)

    def on_error(self, body: bytes) -> None:
        self._receive(body)

    def _receive(self, item: EventMessages | bytes) -> None:
        if self.channel.session and self._user.role_in(self.channel.session) is None:
            return
        if self._live:
            self._send(item)
        elif len(self._held_back) >= MAX_HELD_BACK:
            self._queue.overflow()
        elif self._queue.reserve(_size(item)):
            self._held_back.append(item)

    def _take_held_back(self) -> list[EventMessages | bytes]:
        items, self._held_back = self._held_back, []
        self._queue.release(sum(map(_size, items)))
        return items

    def _send(self, item: EventMessages | bytes) -> None:
        if isinstance(item, bytes):
            self._queue.put(OutgoingMessage(item, self.channel.id))
        elif item.version > self._sent:
            self._sent = item.version
            for body, target in item.messages:
                self._queue.put(OutgoingMessage(body, self.channel.id, target))


def _size(item: EventMessages | bytes) -> int:
    return len(item) if isinstance(item, bytes) else item.size
