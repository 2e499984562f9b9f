"""The session log as the gateway uses it: of a bus that may not be connected yet, and on behalf of one user."""

import time

from parley.events import Due, SessionEvent, dump_event, facts
from services.gateway.access.quota import Quota
from services.gateway.live.hub import Hub
from shared.bus import Bus, BusUnavailable
from shared.log import STORES_NOTHING, Indeterminate, LogFull, LogUnavailable, ReplicatedLog, StoredMessage
from shared.services import WORKERS

EVIDENCE_TTL = 10.0  # seconds that an append is evidence of whether the log stores events


class DeferredLog:
    """Delegates to the bus's log once the bus is connected; until then every call raises LogUnavailable."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus
        self._stored_at = self._unanswered_at = -EVIDENCE_TTL

    @property
    def clustered(self) -> bool:
        try:
            return self._bus.log.clustered
        except BusUnavailable:
            return False

    async def append(self, event: SessionEvent, *, after: int, due: Due) -> int:
        log = self._connected_log()
        try:
            position = await log.append(event, after=after, due=due)
        except Indeterminate:
            self._unanswered_at = time.monotonic()
            raise
        self._stored_at, self._unanswered_at = time.monotonic(), -EVIDENCE_TTL
        return position

    async def check_writable(self) -> None:
        """As of the last append, if there has just been one: a check stores something."""
        if time.monotonic() - self._unanswered_at < EVIDENCE_TTL:
            raise LogFull(STORES_NOTHING)
        if time.monotonic() - self._stored_at >= EVIDENCE_TTL:
            await self._connected_log().check_writable()
            self._stored_at = time.monotonic()

    async def read(
        self, session_id: str, *, after: int = 0, limit: int = 1000, leader: bool = False
    ) -> list[StoredMessage]:
        return await self._connected_log().read(session_id, after=after, limit=limit, leader=leader)

    def _connected_log(self) -> ReplicatedLog:
        try:
            return self._bus.log
        except BusUnavailable as error:
            raise LogUnavailable(str(error)) from error


class MeteredLog:
    """`append` raises ApiError(slow_down), and stores nothing, when the quota is used up."""

    def __init__(self, log: ReplicatedLog, quota: Quota, hub: Hub) -> None:
        self._log, self._quota, self._hub = log, quota, hub

    @property
    def clustered(self) -> bool:
        return self._log.clustered

    async def append(self, event: SessionEvent, *, after: int, due: Due) -> int:
        if isinstance(event, facts.SessionStopped):  # ending work is never refused
            return await self._log.append(event, after=after, due=due)
        with self._quota.storing(len(dump_event(event))):
            if due not in WORKERS:
                return await self._log.append(event, after=after, due=due)
            with self._quota.working(event.session_id, event.version):
                position = await self._log.append(event, after=after, due=due)
            self._hub.watch(event.session_id, self._quota)
            return position

    async def check_writable(self) -> None:
        await self._log.check_writable()

    async def read(
        self, session_id: str, *, after: int = 0, limit: int = 1000, leader: bool = False
    ) -> list[StoredMessage]:
        return await self._log.read(session_id, after=after, limit=limit, leader=leader)
