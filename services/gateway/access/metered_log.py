"""The log on behalf of one user: what they store, and the work they start, counts towards their quota."""

from parley.events import Due, SessionEvent, dump_event, facts
from services.gateway.access.quota import Quota
from services.gateway.live.hub import Hub
from shared.log import ReplicatedLog, StoredMessage
from shared.services import WORKERS


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
