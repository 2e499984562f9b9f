"""Logins that people have ended, at this gateway or another: their cookies mean nothing any more."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager

import structlog
from cachetools import LRUCache, TTLCache

from services.gateway.access.auth import COOKIE_DAYS, Login
from services.gateway.access.limits import MOST, TokenBucket
from services.gateway.ports import Bus
from services.gateway.trouble import Trouble
from shared.bus import BusDown
from shared.bus.logouts import SUBJECT, login_of
from shared.bus.topology import MOST_LOGOUTS
from shared.retry import retry_while_unavailable

BURST, A_MINUTE = 20, 1 / 60  # logouts of one user, at once and a second: each is remembered for a month

log = structlog.get_logger("gateway")


class Logouts:
    """What the bus remembers of them is read at the start and after every lost connection, and heard in between."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._loaded = False
        self._missed = asyncio.Event()
        self._ended: TTLCache[str, None] = TTLCache(MOST_LOGOUTS, ttl=COOKIE_DAYS * 86_400)
        self._watched: defaultdict[str, set[asyncio.Event]] = defaultdict(set)
        self._buckets: LRUCache[str, TokenBucket] = LRUCache(maxsize=MOST)

    async def follow(self) -> None:
        """Learn of all logouts until cancelled; after a lost connection also of those that were not heard."""
        self._bus.on_reconnect(self._on_reconnect)
        await self._listen()
        while True:
            self._missed.clear()
            await self._load()
            await self._missed.wait()

    @retry_while_unavailable(BusDown)
    async def _listen(self) -> None:
        await self._bus.subscribe(SUBJECT, self._on_logout)

    @retry_while_unavailable(BusDown)
    async def _load(self) -> None:
        for login_id in await self._bus.ended_logins():
            self._end(login_id)
        self._loaded = True

    async def _on_reconnect(self) -> None:
        self._missed.set()

    async def _on_logout(self, subject: str, body: bytes) -> None:
        self._end(login_of(subject))

    def _end(self, login_id: str) -> None:
        self._ended[login_id] = None
        for event in self._watched.get(login_id, ()):
            event.set()

    def check(self, login: Login) -> None:
        """Raises Trouble(unauthorized) for one that has been ended, BusDown while nobody can know."""
        if not login.id:
            return
        if not self._loaded:
            raise BusDown("It is not known yet which logins have been ended.")
        if login.id in self._ended:
            raise Trouble("unauthorized", "You have logged out.", "Log in again.")

    async def end(self, login: Login) -> None:
        """End it at every gateway. Raises Trouble for what is no cookie's login, BusDown where it is not ended."""
        if not login.id:
            hint = "A token or a key ends when it is changed, a JWT at its time."
            raise Trouble("invalid", "Only a browser's login can be ended.", hint)
        bucket = self._buckets.setdefault(login.user.id, TokenBucket(burst=BURST, rate=A_MINUTE))
        if not bucket.take():
            raise Trouble("slow_down", "Too many logouts at once.", "Try again in a minute.", retry_after=60)
        await self._bus.end_login(login.id)
        self._end(login.id)
        log.info("logged_out", user=login.user.id)

    @contextmanager
    def watch(self, login: Login) -> Iterator[asyncio.Event]:
        """An event that is set when the login ends, by its time or by a logout. Enter it right after `check`."""
        ended = asyncio.Event()
        loop, left = asyncio.get_running_loop(), login.until and max(0.0, login.until - time.time())
        timer = None if left is None else loop.call_later(left, ended.set)
        self._watched[login.id].add(ended)
        try:
            yield ended
        finally:
            if timer:
                timer.cancel()
            self._watched[login.id].discard(ended)
            if not self._watched[login.id]:
                del self._watched[login.id]
