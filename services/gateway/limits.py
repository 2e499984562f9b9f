"""How fast one socket, one user or one address may go. All of it is counted in this process alone."""

import hashlib
import ipaddress
import math
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cachetools import LRUCache
from starlette.requests import HTTPConnection

from services.gateway.trouble import Trouble
from shared.settings import Auth, Settings

Clock = Callable[[], float]
MOST = 10_000  # users, addresses or secrets that are remembered; the least lately seen are forgotten
AT_ONCE = 10  # seconds' worth of requests that may come at once
MINUTE = 60.0
GUESSABLE: tuple[Auth, ...] = ("token", "keys")  # nobody guesses the signature of a JWT


class TokenBucket:
    """`burst` messages at once, `rate` a second after that."""

    def __init__(self, *, burst: float = 50, rate: float = 20, clock: Clock = time.monotonic) -> None:
        self._burst, self._rate, self._clock = burst, rate, clock
        self._tokens, self._at = burst, clock()

    def take(self) -> bool:
        """Whether one more message is allowed now."""
        if self.wait > 0:
            return False
        self._tokens -= 1
        return True

    @property
    def wait(self) -> float:
        """Seconds until one more is allowed; 0: now."""
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._rate)
        self._at = now
        return max(0.0, (1 - self._tokens) / self._rate)


class Requests:
    """What each user asks over REST, and how many sockets they have open. Raises Trouble(slow_down)."""

    def __init__(self, settings: Settings, clock: Clock = time.monotonic) -> None:
        self._rate, self._sockets = settings.requests_per_second, settings.sockets_per_user
        self._clock = clock
        self._buckets: LRUCache[str, TokenBucket] = LRUCache(maxsize=MOST)
        self._open: Counter[str] = Counter()

    def count(self, user: str) -> None:
        """One more request, or one more handshake."""
        if not self._rate:
            return
        bucket = self._buckets.setdefault(user, self._new())
        if not bucket.take():
            raise _slow_down("Too many requests at once.", "REQUESTS_PER_SECOND", bucket.wait)

    def _new(self) -> TokenBucket:
        return TokenBucket(burst=max(self._rate * AT_ONCE, 1), rate=self._rate, clock=self._clock)

    @contextmanager
    def socket(self, user: str) -> Iterator[None]:
        """While this socket of theirs is open."""
        if self._sockets and self._open[user] >= self._sockets:
            raise _slow_down(f"{self._sockets} sockets of yours are open already.", "SOCKETS_PER_USER", AT_ONCE)
        self._open[user] += 1
        try:
            yield
        finally:
            self._open[user] -= 1
            if not self._open[user]:
                del self._open[user]


class Guesses:
    """Failed logins by address: who fails too often is not heard for a while.

    A secret that was right before is always heard: nobody behind the same proxy can lock its owner out by guessing.
    """

    def __init__(self, settings: Settings, clock: Clock = time.monotonic) -> None:
        self._most = settings.failed_logins_per_minute if settings.parley_auth in GUESSABLE else 0
        self._clock = clock
        self._failed: LRUCache[str, TokenBucket] = LRUCache(maxsize=MOST)
        self._right: LRUCache[str, None] = LRUCache(maxsize=MOST)  # digests of secrets

    @contextmanager
    def attempt(self, connection: HTTPConnection, secret: str) -> Iterator[None]:
        """Around a login with this secret, if there is one. Raises Trouble(slow_down) where it may not be tried now."""
        if not (self._most and secret):
            yield
            return
        address, digest = _network(connection), hashlib.sha256(secret.encode()).hexdigest()
        bucket = self._failed.get(address)
        if bucket and bucket.wait and digest not in self._right:
            raise _slow_down("Too many failed logins from your address.", "FAILED_LOGINS_PER_MINUTE", bucket.wait)
        try:
            yield
        except Trouble:
            self._failed.setdefault(address, self._new()).take()
            raise
        self._right[digest] = None

    def _new(self) -> TokenBucket:
        return TokenBucket(burst=max(self._most, 1), rate=self._most / MINUTE, clock=self._clock)


def _slow_down(message: str, setting: str, seconds: float) -> Trouble:
    wait = max(1, math.ceil(seconds))
    hint = f"Try again in {wait} s; who runs this Parley can raise {setting}."
    return Trouble("slow_down", message, hint, retry_after=wait)


def _network(connection: HTTPConnection) -> str:
    """Where it comes from; who has one IPv6 address has 2^64 of them."""
    address = connection.client.host if connection.client else ""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((found, 64), strict=False)) if found.version == 6 else address
