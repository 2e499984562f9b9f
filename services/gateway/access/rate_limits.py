"""Rate limits by user and by address. Each process counts for itself."""

import hashlib
import ipaddress
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from cachetools import LRUCache
from starlette.requests import HTTPConnection

from services.gateway.api_errors import ApiError
from shared.settings import Auth, Settings

Clock = Callable[[], float]
MAX_REMEMBERED = 10_000  # users, addresses or secrets; the least recently used are dropped
MINUTE_SECONDS = 60.0
THROTTLED_AUTH: tuple[Auth, ...] = ("token", "keys")  # guessing the signature of a JWT is hopeless


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
