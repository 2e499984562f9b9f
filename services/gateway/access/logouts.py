"""Logins that users have ended, at this gateway or another one: their cookies are no longer valid."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from cachetools import LRUCache, TTLCache

from services.gateway.access.auth import COOKIE_DAYS, Login
from services.gateway.access.quota import MAX_REMEMBERED, TokenBucket
from services.gateway.api_errors import ApiError
from services.gateway.ports import GatewayBus
from shared.bus import BusUnavailable
from shared.bus.logins import SUBJECT, login_of
from shared.bus.topology import MAX_LOGOUTS
from shared.retry import retry_while_unavailable

LOGOUT_BURST, LOGOUTS_PER_SECOND = (
    20,
    1 / 60,
)  # of one user: the bus keeps each for a month

log = structlog.get_logger("gateway")


class Logouts:
    """The ended logins: loaded from the bus at the start and after every reconnect, and subscribed to in between."""

    def __init__(self, bus: GatewayBus) -> None:
        self._bus = bus
        self._loaded = False
        self._reconnected = asyncio.Event()
        self._ended: TTLCache[str, None] = TTLCache(MAX_LOGOUTS, ttl=COOKIE_DAYS * 86_400)
        self._watchers: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._buckets: LRUCache[str, TokenBucket] = LRUCache(maxsize=MAX_REMEMBERED)

    async def follow(self) -> None:
        """Keep the ended logins current until cancelled."""
        self._bus.on_reconnect(self._on_reconnect)
        await self._subscribe()
        while True:
            self._reconnected.clear()
            await self._load()
            await self._reconnected.wait()

    @retry_while_unavailable(BusUnavailable)
    async def _subscribe(self) -> None:
        await self._bus.subscribe(SUBJECT, self._on_logout)

    @retry_while_unavailable(BusUnavailable)
    async def _load(self) -> None:
        for login_id in await self._bus.ended_logins():
            self._end(login_id)
        self._loaded = True

    async def _on_reconnect(self) -> None:
        self._reconnected.set()

    async def _on_logout(self, subject: str, body: bytes) -> None:
        self._end(login_of(subject))

    def _end(self, login_id: str) -> None:
        self._ended[login_id] = None
        for event in self._watchers.get(login_id, ()):
            event.set()

    def check(self, login: Login) -> None:
        """Raises ApiError(unauthorized) for one that has been ended, BusUnavailable while that is unknown."""
        if not login.id:
            return
        if not self._loaded:
            raise BusUnavailable("It is not known yet which logins have been ended.")
        if login.id in self._ended:
            raise ApiError("unauthorized", "You have logged out.", "Log in again.")

    async def end(self, login: Login) -> None:
        """End the login at every gateway.

        Raises ApiError for a login without a cookie, BusUnavailable if it could not be ended.
        """
        if not login.id:
            hint = "A token or a key ends when it is changed, a JWT at its time."
            raise ApiError("invalid", "Only a browser's login can be ended.", hint)
        bucket = self._buckets.setdefault(login.user.id, TokenBucket(burst=LOGOUT_BURST, rate=LOGOUTS_PER_SECOND))
        if not bucket.take():
            raise ApiError("slow_down", "Too many logouts at once.", "Try again in a minute.", retry_after=60)
        await self._bus.end_login(login.id)
        self._end(login.id)
        log.info("logged_out", user=login.user.id)

    @contextmanager
    def watch(self, login: Login) -> Iterator[asyncio.Event]:
        """An event that is set when the login expires or the user logs out. Enter it right after `check`."""
        ended = asyncio.Event()
        loop, remaining = asyncio.get_running_loop(), login.expires_at and max(0.0, login.expires_at - time.time())
        timer = None if remaining is None else loop.call_later(remaining, ended.set)
        self._watchers[login.id].add(ended)
        try:
            yield ended
        finally:
            if timer:
                timer.cancel()
            self._watchers[login.id].discard(ended)
            if not self._watchers[login.id]:
                del self._watchers[login.id]
