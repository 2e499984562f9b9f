"""Quotas per user, over all their sockets and REST requests together.

Each gateway process counts for itself; a restart resets the counts.
"""

import asyncio
import hashlib
import ipaddress
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol
from weakref import WeakValueDictionary

from cachetools import LRUCache
from starlette.requests import HTTPConnection

from services.gateway.api_errors import ApiError
from shared.settings import Auth, Settings

Clock = Callable[[], float]
MAX_REMEMBERED = 10_000  # users, addresses or secrets; the least recently used are dropped
MINUTE_SECONDS = 60.0
THROTTLED_AUTH: tuple[Auth, ...] = ("token", "keys")  # guessing the signature of a JWT is hopeless
BURST_SECONDS = 3  # a user may send this many seconds' worth of messages at once
REFUSALS_PER_SECOND = 20  # of one user
MAX_REFUSAL_DELAY = 20.0  # seconds
DAY_SECONDS = 86_400.0
MAX_CONCURRENT_REQUESTS = 16  # of one user; further requests wait
MESSAGE_BYTES = 64 * 1024  # a response of this size costs as much as one message
DEFAULT_RETRY_AFTER = 2.0  # seconds, when the time until it may succeed is unknown


class TokenBucket:
    """A token bucket: holds at most `burst` tokens and refills with `rate` tokens a second."""

    def __init__(self, *, burst: float = 50, rate: float = 20, clock: Clock = time.monotonic) -> None:
        self._burst, self._rate, self._clock = burst, rate, clock
        self._tokens, self._at = burst, clock()

    def take(self, tokens: float = 1) -> bool:
        """Take this many tokens if there are enough. Returns whether there were."""
        if self.wait_for(tokens) > 0:
            return False
        self._tokens -= tokens
        return True

    def charge(self, tokens: float) -> None:
        """Take this many tokens even if there are too few: the next one waits longer. A negative number gives back."""
        self.wait_for(0)
        self._tokens -= tokens

    def wait_for(self, tokens: float) -> float:
        """Seconds until there are this many tokens, 0 if there are. Capped at what the bucket holds."""
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._rate)
        self._at = now
        return max(0.0, (min(tokens, self._burst) - self._tokens) / self._rate)

    @property
    def wait(self) -> float:
        """Seconds until there is a token, 0 if there is one."""
        return self.wait_for(1)


class LoginThrottle:
    """Counts failed logins by address and refuses further attempts from an address that fails too often.

    A secret that was valid before is never refused: an attacker behind the same proxy cannot lock its owner out.
    """

    def __init__(self, settings: Settings, clock: Clock = time.monotonic) -> None:
        self._max_failures = settings.max_failed_logins_per_minute if settings.parley_auth in THROTTLED_AUTH else 0
        self._clock = clock
        self._failures: LRUCache[str, TokenBucket] = LRUCache(maxsize=MAX_REMEMBERED)
        self._accepted_digests: LRUCache[str, None] = LRUCache(maxsize=MAX_REMEMBERED)  # of secrets

    @contextmanager
    def attempt(self, connection: HTTPConnection, secret: str) -> Iterator[None]:
        """Wrap a login attempt; an empty secret does not count. Raises ApiError(slow_down) if the address must wait."""
        if not (self._max_failures and secret):
            yield
            return
        address, digest = _client_network(connection), hashlib.sha256(secret.encode()).hexdigest()
        bucket = self._failures.get(address)
        if bucket and bucket.wait and digest not in self._accepted_digests:
            raise slow_down_error(
                "Too many failed logins from your address.", "MAX_FAILED_LOGINS_PER_MINUTE", bucket.wait
            )
        try:
            yield
        except ApiError:
            self._failures.setdefault(address, self._new_bucket()).take()
            raise
        self._accepted_digests[digest] = None

    def _new_bucket(self) -> TokenBucket:
        return TokenBucket(
            burst=max(self._max_failures, 1), rate=self._max_failures / MINUTE_SECONDS, clock=self._clock
        )


def slow_down_error(message: str, setting: str, seconds: float) -> ApiError:
    """The error for a limit that `setting` sets; the request may succeed after `seconds`."""
    wait = max(1, math.ceil(seconds))
    hint = f"Try again in {_duration_text(wait)}; who runs this Parley can raise {setting}."
    return ApiError("slow_down", message, hint, retry_after=wait)


def _duration_text(seconds: int) -> str:
    return f"{seconds} s" if seconds < 120 else f"{math.ceil(seconds / 60)} min"


def _client_network(connection: HTTPConnection) -> str:
    """The client's address; of an IPv6 address its /64 network, since one host has all of that."""
    address = connection.client.host if connection.client else ""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((ip, 64), strict=False)) if ip.version == 6 else address


class SendBuffer(Protocol):
    """Data that waits to be sent to one client. `overflow` drops it and ends the connection."""

    @property
    def size(self) -> int: ...
    def overflow(self) -> None: ...


class ConcurrencyLimit:
    """A limit on how many things exist at once; 0: no limit. `description` names them in the error."""

    def __init__(self, limit: int, description: str, setting: str) -> None:
        self._limit, self._description, self._setting = limit, description, setting
        self.in_use = 0

    def acquire(self) -> None:
        """Raises ApiError(slow_down)."""
        if self._limit and self.in_use >= self._limit:
            raise slow_down_error(f"{self._limit} {self._description} already.", self._setting, DEFAULT_RETRY_AFTER)
        self.in_use += 1

    def release(self) -> None:
        self.in_use -= 1

    @contextmanager
    def slot(self) -> Iterator[None]:
        self.acquire()
        try:
            yield
        finally:
            self.release()


class Quota:
    """The quota of one user. A refusal is an ApiError(slow_down) that says when to retry and which setting applies."""

    def __init__(self, quotas: "Quotas", settings: Settings, clock: Clock) -> None:
        self._quotas = quotas
        rate, stored = settings.max_requests_per_second, settings.max_stored_bytes_per_day
        self._messages = TokenBucket(burst=max(rate * BURST_SECONDS, 1), rate=rate, clock=clock) if rate else None
        self._stored = TokenBucket(burst=stored, rate=stored / DAY_SECONDS, clock=clock) if stored else None
        self._max_working_sessions = settings.max_running_sessions_per_user
        self._max_unread = settings.max_send_buffer_bytes_per_user
        self._buffers: set[SendBuffer] = set()
        self._waiting = ConcurrencyLimit(
            settings.max_pending_requests_per_user,
            "requests of yours wait for their sessions",
            "MAX_PENDING_REQUESTS_PER_USER",
        )
        self.sockets = ConcurrencyLimit(
            settings.max_sockets_per_user, "sockets of yours are open", "MAX_SOCKETS_PER_USER"
        )
        self.open_sessions = ConcurrencyLimit(
            settings.max_open_sessions_per_user, "sessions are open on your sockets", "MAX_OPEN_SESSIONS_PER_USER"
        )
        self.request_slots = asyncio.Semaphore(MAX_CONCURRENT_REQUESTS)
        self.working_sessions: dict[str, int] = {}  # session id -> version of the event that last started work
        self.unread = 0  # bytes
        self._clock = clock
        self._refused = 0.0  # when the last refusal is sent, on our clock

    # --- messages

    def count_message(self) -> None:
        """Count one message, request or handshake."""
        if self._messages and not self._messages.take():
            raise slow_down_error("Too many messages at once.", "MAX_REQUESTS_PER_SECOND", self._messages.wait)

    def charge_response(self, size: int) -> None:
        """Count a response of this size in bytes; a large one costs as much as several messages."""
        if self._messages:
            self._messages.charge(size / MESSAGE_BYTES)

    def next_refusal_delay(self) -> float:
        """Seconds to delay the next refusal: sending refusals costs almost as much as serving the requests."""
        now = self._clock()
        self._refused = min(max(now, self._refused + 1 / REFUSALS_PER_SECOND), now + MAX_REFUSAL_DELAY)
        return self._refused - now

    @contextmanager
    def waiting(self) -> Iterator[None]:
        """Wrap a request that waits for its session."""
        with self._waiting.slot(), self._quotas.waiting.slot():
            yield

    # --- stored bytes and work

    @contextmanager
    def storing(self, size: int) -> Iterator[None]:
        """Wrap the storing of so many bytes; they do not count if it raises."""
        stored = self._stored
        if stored is None:
            yield
            return
        if not stored.take(size):
            raise slow_down_error("You have stored too much today.", "MAX_STORED_BYTES_PER_DAY", stored.wait_for(size))
        try:
            yield
        except BaseException:
            stored.charge(-size)
            raise

    @contextmanager
    def working(self, session_id: str, version: int) -> Iterator[None]:
        """Wrap the append of an event that starts work in the session; it counts until `finish_work`."""
        self.check_may_work(session_id)
        previous = self.working_sessions.get(session_id)
        self.working_sessions[session_id] = version
        try:
            yield
        except BaseException:
            if previous is None:
                self.finish_work(session_id)
            else:
                self.working_sessions[session_id] = previous
            raise

    def check_may_work(self, session_id: str) -> None:
        """Raises ApiError(slow_down) if services work on too many other sessions of the user."""
        limit = self._max_working_sessions
        if limit and len(self.working_sessions) >= limit and session_id not in self.working_sessions:
            raise slow_down_error(
                f"{limit} sessions of yours are being worked on.", "MAX_RUNNING_SESSIONS_PER_USER", DEFAULT_RETRY_AFTER
            )

    def finish_work(self, session_id: str) -> None:
        self.working_sessions.pop(session_id, None)

    # --- unread data

    def check_may_buffer(self, size: int) -> None:
        """Raises ApiError(slow_down) if other data waits and this many bytes more exceed the limit."""
        if self._max_unread and self.unread and self.unread + size > self._max_unread:
            raise slow_down_error(
                "You have not read what you asked for before.", "MAX_SEND_BUFFER_BYTES_PER_USER", DEFAULT_RETRY_AFTER
            )

    def add_unread(self, buffer: SendBuffer, size: int) -> None:
        """Count bytes added to this buffer. Over the limit, the fullest buffers overflow."""
        self._buffers.add(buffer)
        self.unread += size
        self._quotas.unread += size
        while self._max_unread and self.unread > self._max_unread:
            self.overflow_fullest()
        self._quotas.enforce_total()

    def remove_unread(self, buffer: SendBuffer, size: int) -> None:
        """Count bytes sent from this buffer, or dropped."""
        self.unread -= size
        self._quotas.unread -= size
        if not buffer.size:
            self._buffers.discard(buffer)

    def overflow_fullest(self) -> None:
        """Overflow the user's fullest buffer."""
        max(self._buffers, key=lambda buffer: buffer.size).overflow()


class Quotas:
    """The quotas of all users, and the limits that they share."""

    def __init__(self, settings: Settings, clock: Clock = time.monotonic) -> None:
        self._settings, self._clock = settings, clock
        self._users: WeakValueDictionary[str, Quota] = WeakValueDictionary()  # kept while a socket or request uses it
        self._recent: LRUCache[str, Quota] = LRUCache(maxsize=MAX_REMEMBERED)
        self.waiting = ConcurrencyLimit(
            settings.max_pending_requests, "requests wait for their sessions", "MAX_PENDING_REQUESTS"
        )
        self.unread = 0  # bytes

    def for_user(self, user: str) -> Quota:
        quota = self._users.get(user)
        if quota is None:
            quota = self._users[user] = Quota(self, self._settings, self._clock)
        self._recent[user] = quota
        return quota

    def enforce_total(self) -> None:
        """Over the total limit, overflow buffers of the users with the most unread data."""
        while self._settings.max_send_buffer_bytes and self.unread > self._settings.max_send_buffer_bytes:
            max(self._users.values(), key=lambda quota: quota.unread).overflow_fullest()
