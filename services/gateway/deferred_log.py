"""The session log of a bus that may not be connected yet."""

from parley.events import Due, SessionEvent
from shared.bus import Bus, BusUnavailable
from shared.log import LogUnavailable, ReplicatedLog, StoredMessage


class DeferredLog:
    """Delegates to the bus's log once the bus is connected; until then every call raises LogUnavailable."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    @property
    def clustered(self) -> bool:
        try:
            return self._bus.log.clustered
        except BusUnavailable:
            return False

    async def append(self, event: SessionEvent, *, after: int, due: Due) -> int:
        return await self._connected_log().append(event, after=after, due=due)

    async def read(
        self, session_id: str, *, after: int = 0, limit: int = 1000, leader: bool = False
    ) -> list[StoredMessage]:
        return await self._connected_log().read(session_id, after=after, limit=limit, leader=leader)

    def _connected_log(self) -> ReplicatedLog:
        try:
            return self._bus.log
        except BusUnavailable as error:
            raise LogUnavailable(str(error)) from error
