"""How fast one user or one address may go. All of it is counted in this process alone."""

import hashlib
import ipaddress
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cachetools import LRUCache
from starlette.requests import HTTPConnection

from services.gateway.trouble import Trouble
from shared.settings import Auth, Settings

Clock = Callable[[], float]
MOST = 10_000  # users, addresses or secrets that are remembered; the least lately seen are forgotten
MINUTE = 60.0
GUESSABLE: tuple[Auth, ...] = ("token", "keys")  # nobody guesses the signature of a JWT


class TokenBucket:
    """`burst` tokens at once, `rate` a second after that."""

    def __init__(self, *, burst: float = 50, rate: float = 20, clock: Clock = time.monotonic) -> None:
        self._burst, self._rate, self._clock = burst, rate, clock
        self._tokens, self._at = burst, clock()

    def take(self, tokens: float = 1) -> bool:
        """Whether so many are there now; if they are, they are taken."""
        if self.wait_for(tokens) > 0:
            return False
        self._tokens -= tokens
        return True

    def charge(self, tokens: float) -> None:
        """Take so many, whether they are there or not: who comes next waits the longer. Negative: give back."""
        self.wait_for(0)
        self._tokens -= tokens

    def wait_for(self, tokens: float) -> float:
        """Seconds until so many are there; 0: now. More than the bucket holds are there once it is full."""
        now = self._clock()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._rate)
        self._at = now
        return max(0.0, (min(tokens, self._burst) - self._tokens) / self._rate)

    @property
    def wait(self) -> float:
        """Seconds until one is there; 0: now."""
        return self.wait_for(1)


class Guesses:
    """Failed logins by address: who fails too often is not heard for a while.

    A secret that was right before is always heard: nobody behind the same proxy can lock its owner out by guessing.
    """

    def __init__(self, settings: Settings, clock: Clock = time.monotonic) -> None:
        self._most = settings.max_failed_logins_per_minute if settings.parley_auth in GUESSABLE else 0
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
            raise slow_down("Too many failed logins from your address.", "MAX_FAILED_LOGINS_PER_MINUTE", bucket.wait)
        try:
            yield
        except Trouble:
            self._failed.setdefault(address, self._new()).take()
            raise
        self._right[digest] = None

    def _new(self) -> TokenBucket:
        return TokenBucket(burst=max(self._most, 1), rate=self._most / MINUTE, clock=self._clock)


def slow_down(message: str, setting: str, seconds: float) -> Trouble:
    """The refusal of what may be done again after so many seconds, as far as `setting` allows it."""
    wait = max(1, math.ceil(seconds))
    hint = f"Try again in {_in_words(wait)}; who runs this Parley can raise {setting}."
    return Trouble("slow_down", message, hint, retry_after=wait)


def _in_words(seconds: int) -> str:
    return f"{seconds} s" if seconds < 120 else f"{math.ceil(seconds / 60)} min"


def _network(connection: HTTPConnection) -> str:
    """Where it comes from; who has one IPv6 address has 2^64 of them."""
    address = connection.client.host if connection.client else ""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    return str(ipaddress.ip_network((found, 64), strict=False)) if found.version == 6 else address
