"""What one user may take of this gateway, over all their sockets and REST together.

Everything is counted in this process alone: another gateway counts for itself, and a restart begins anew.
"""

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol
from weakref import WeakValueDictionary

from cachetools import LRUCache

from services.gateway.access.limits import MOST, Clock, TokenBucket, slow_down
from shared.settings import Settings

BURST = 3  # seconds' worth of messages that may come at once
REFUSALS = 20  # of one user, a second
LONGEST = 20.0  # seconds that a refusal waits
DAY = 86_400.0
TURNS = 16  # requests of one user that are worked on at once; the others wait for these
MESSAGE_BYTES = 64 * 1024  # of an answer that cost as much as one message
SOON = 2.0  # seconds after which trying again is worth while, where nobody can tell


class Buffer(Protocol):
    """What waits for one client, in bytes. `overflow` drops it, and ends the client's connection."""

    @property
    def size(self) -> int: ...
    def overflow(self) -> None: ...


class Places:
    """So many at once; 0: any number. `words` say what there are too many of."""

    def __init__(self, most: int, words: str, setting: str) -> None:
        self._most, self._words, self._setting = most, words, setting
        self.taken = 0

    def take(self) -> None:
        """Raises Trouble(slow_down)."""
        if self._most and self.taken >= self._most:
            raise slow_down(f"{self._most} {self._words} already.", self._setting, SOON)
        self.taken += 1

    def give(self) -> None:
        self.taken -= 1

    @contextmanager
    def one(self) -> Iterator[None]:
        self.take()
        try:
            yield
        finally:
            self.give()


class Quota:
    """One user's. What refuses raises Trouble(slow_down), which says when to try again and which setting it is."""

    def __init__(self, quotas: "Quotas", settings: Settings, clock: Clock) -> None:
        self._quotas = quotas
        rate, stored = settings.max_requests_per_second, settings.max_stored_bytes_per_day
        self._messages = TokenBucket(burst=max(rate * BURST, 1), rate=rate, clock=clock) if rate else None
        self._stored = TokenBucket(burst=stored, rate=stored / DAY, clock=clock) if stored else None
        self._most_at_work = settings.max_running_sessions_per_user
        self._most_unread = settings.max_send_buffer_bytes_per_user
        self._buffers: set[Buffer] = set()
        self._waiting = Places(
            settings.max_pending_requests_per_user,
            "requests of yours wait for their sessions",
            "MAX_PENDING_REQUESTS_PER_USER",
        )
        self.sockets = Places(settings.max_sockets_per_user, "sockets of yours are open", "MAX_SOCKETS_PER_USER")
        self.open_sessions = Places(
            settings.max_open_sessions_per_user, "sessions are open on your sockets", "MAX_OPEN_SESSIONS_PER_USER"
        )
        self.turns = asyncio.Semaphore(TURNS)
        self.at_work: dict[str, int] = {}  # session id: version of the event that last gave a service something to do
        self.unread = 0  # bytes
        self._clock = clock
        self._refused = 0.0  # when the last refusal was to be sent

    # --- messages

    def count(self) -> None:
        """One more message, request or handshake."""
        if self._messages and not self._messages.take():
            raise slow_down("Too many messages at once.", "MAX_REQUESTS_PER_SECOND", self._messages.wait)

    def answered(self, size: int) -> None:
        """An answer of so many bytes was made; a large one costs as much as several messages."""
        if self._messages:
            self._messages.charge(size / MESSAGE_BYTES)

    def hold_back(self) -> float:
        """Seconds that a refusal has to wait: sending many costs almost as much as doing what they refuse."""
        now = self._clock()
        self._refused = min(max(now, self._refused + 1 / REFUSALS), now + LONGEST)
        return self._refused - now

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """While a request waits for its session."""
        with self._waiting.one(), self._quotas.waiting.one():
            yield

    # --- what their messages bring about

    @contextmanager
    def stores(self, size: int) -> Iterator[None]:
        """Around storing so many bytes, which count unless that fails."""
        stored = self._stored
        if stored is None:
            yield
            return
        if not stored.take(size):
            raise slow_down("You have stored too much today.", "MAX_STORED_BYTES_PER_DAY", stored.wait_for(size))
        try:
            yield
        except BaseException:
            stored.charge(-size)
            raise

    @contextmanager
    def works(self, session_id: str, version: int) -> Iterator[None]:
        """Around the event of this version, which gives a service something to do in the session, until `rests`."""
        self.may_work(session_id)
        before = self.at_work.get(session_id)
        self.at_work[session_id] = version
        try:
            yield
        except BaseException:
            if before is None:
                self.rests(session_id)
            else:
                self.at_work[session_id] = before
            raise

    def may_work(self, session_id: str) -> None:
        """Raises Trouble(slow_down) where services work on as many other sessions of the user as they may."""
        most = self._most_at_work
        if most and len(self.at_work) >= most and session_id not in self.at_work:
            raise slow_down(f"{most} sessions of yours are being worked on.", "MAX_RUNNING_SESSIONS_PER_USER", SOON)

    def rests(self, session_id: str) -> None:
        self.at_work.pop(session_id, None)

    # --- what they have not read yet

    def may_hold(self, size: int) -> None:
        """Raises Trouble(slow_down) where so many bytes more are too many, beside others that wait already."""
        if self._most_unread and self.unread and self.unread + size > self._most_unread:
            raise slow_down("You have not read what you asked for before.", "MAX_SEND_BUFFER_BYTES_PER_USER", SOON)

    def hold(self, buffer: Buffer, size: int) -> None:
        """So many more bytes wait in this buffer. Where there are too many, the fullest buffers overflow."""
        self._buffers.add(buffer)
        self.unread += size
        self._quotas.unread += size
        while self._most_unread and self.unread > self._most_unread:
            self.overflow()
        self._quotas.fit()

    def release(self, buffer: Buffer, size: int) -> None:
        """So many bytes have been taken from it, or dropped."""
        self.unread -= size
        self._quotas.unread -= size
        if not buffer.size:
            self._buffers.discard(buffer)

    def overflow(self) -> None:
        """Drop what waits in the fullest buffer."""
        max(self._buffers, key=lambda buffer: buffer.size).overflow()


class Quotas:
    """The quota of each user, and what all of them share."""

    def __init__(self, settings: Settings, clock: Clock = time.monotonic) -> None:
        self._settings, self._clock = settings, clock
        self._users: WeakValueDictionary[str, Quota] = WeakValueDictionary()  # while a socket or request has it
        self._recent: LRUCache[str, Quota] = LRUCache(maxsize=MOST)
        self.waiting = Places(settings.max_pending_requests, "requests wait for their sessions", "MAX_PENDING_REQUESTS")
        self.unread = 0  # bytes

    def of(self, user: str) -> Quota:
        quota = self._users.get(user)
        if quota is None:
            quota = self._users[user] = Quota(self, self._settings, self._clock)
        self._recent[user] = quota
        return quota

    def fit(self) -> None:
        """Where too many bytes wait in all, the users for whom most wait lose their fullest buffers."""
        while self._settings.max_send_buffer_bytes and self.unread > self._settings.max_send_buffer_bytes:
            max(self._users.values(), key=lambda quota: quota.unread).overflow()
