"""The replica count of the session log, read from its stream rather than from settings."""

import asyncio

import structlog
from nats.aio.client import Client

from shared.bus.jetstream_api import NATS_ERRORS, stream_info
from shared.bus.topology import SESSIONS

REQUEST_TIMEOUT, POLL_INTERVAL = 2.0, 0.5  # seconds for one request, and between two requests
log = structlog.get_logger("bus")


class Replication:
    """The stream's replication. Until it is known, the log counts as clustered, which is the safe assumption."""

    def __init__(self) -> None:
        self._replicas: int | None = None

    @property
    def clustered(self) -> bool:
        return self._replicas != 1

    async def read(self, client: Client) -> bool:
        """Read the replica count; False if the stream is missing or does not answer."""
        try:
            config = (await stream_info(client, SESSIONS, seconds=REQUEST_TIMEOUT))["config"]
        except NATS_ERRORS:
            return False
        replicas = int(config.get("num_replicas", 1))
        if self._replicas not in (None, replicas):
            log.warning("replication_changed", stream=SESSIONS, before=self._replicas, now=replicas)
        self._replicas = replicas
        return True

    async def follow(self, client: Client) -> None:
        """Read the replica count, and retry until the stream answers."""
        while not await self.read(client):  # noqa: ASYNC110  there is no event for a stream being provisioned
            await asyncio.sleep(POLL_INTERVAL)
