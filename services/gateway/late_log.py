"""The session log of a bus that may not be connected yet."""

from parley.events import Due, SessionEvent
from shared.bus import Bus, BusDown
from shared.log import LogDown, ReplicatedLog, StoredMessage


class LateLog:
    """The bus's log once the bus is connected; until then a log that is down."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    @property
    def clustered(self) -> bool:
        try:
            return self._bus.log.clustered
        except BusDown:
            return False

    async def append(self, event: SessionEvent, *, after: int, due: Due) -> int:
        return await self._there().append(event, after=after, due=due)

    async def read(
        self, session_id: str, *, after: int = 0, limit: int = 1000, leader: bool = False
    ) -> list[StoredMessage]:
        return await self._there().read(session_id, after=after, limit=limit, leader=leader)

    def _there(self) -> ReplicatedLog:
        try:
            return self._bus.log
        except BusDown as error:
            raise LogDown(str(error)) from error
