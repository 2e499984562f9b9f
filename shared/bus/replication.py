"""How many servers keep the session log: read from its stream, so that no process can be told otherwise."""

import asyncio

import structlog
from nats.aio.client import Client

from shared.bus.api import AMBIGUOUS, stream_info
from shared.bus.topology import SESSIONS

ANSWER, PAUSE = 2.0, 0.5  # seconds for one request, and between two
log = structlog.get_logger("bus")


class Replication:
    """What the stream says of itself. Until it has answered, the log counts as clustered: the cautious reading."""

    def __init__(self) -> None:
        self._replicas: int | None = None

    @property
    def clustered(self) -> bool:
        return self._replicas != 1

    async def read(self, client: Client) -> bool:
        """Ask once; False where the stream is missing or does not answer."""
        try:
            config = (await stream_info(client, SESSIONS, seconds=ANSWER))["config"]
        except AMBIGUOUS:
            return False
        replicas = int(config.get("num_replicas", 1))
        if self._replicas not in (None, replicas):
            log.warning("replication_changed", stream=SESSIONS, before=self._replicas, now=replicas)
        self._replicas = replicas
        return True

    async def follow(self, client: Client) -> None:
        """Ask until the stream answers."""
        while not await self.read(client):  # noqa: ASYNC110  nobody says when a missing stream is provisioned
            await asyncio.sleep(PAUSE)
