"""Strikes: deliveries during which the watchdog ended a process, stored in NATS for all replicas.

    watchdog.exit.<service>                           a process of this service was ended
    watchdog.strike.<stream>.<consumer>.<position>    while it was handling this message; the newest one has the count

The same record counts deliveries that were left to a newer release: these are not attempts to handle the message.

A message with one strike is handled exclusively. One with MAX_STRIKES becomes a dead letter: the second time the
process was handling nothing else.
"""

import json
from collections.abc import Iterable
from datetime import UTC, datetime

import nats
import nats.js.errors
import structlog
from nats.aio.client import Client
from pydantic import BaseModel

from shared.bus.connection import address, options, retry_until_connected
from shared.bus.jetstream_api import reported_as_unavailable, subjects_of
from shared.bus.topology import WATCHDOG
from shared.settings import Settings

log = structlog.get_logger("bus")
MAX_STRIKES = 2
_EXITS = "watchdog.exit."
_TIMEOUT = 2  # seconds for one answer


class Strike(BaseModel):
    """The strikes of a message: their count, and where the event loop was blocked last.

    `put_off` counts deliveries that were left to a newer release.
    """

    count: int
    where: str
    at: datetime
    put_off: int = 0


class WatchdogStrikes:
    """Every method raises BusUnavailable."""

    def __init__(self, client: Client) -> None:
        self._jetstream = client.jetstream(timeout=_TIMEOUT)
        self._client = client

    async def newest(self, reply: str) -> Strike | None:
        """The newest strike of the message with this acknowledgement subject; None if it has none."""
        with reported_as_unavailable("The strikes of a message cannot be read"):
            try:
                message = await self._jetstream.get_last_msg(WATCHDOG, _subject(reply))
            except nats.js.errors.NotFoundError:
                return None
        return Strike.model_validate_json(message.data or b"")

    async def add(self, replies: Iterable[str], where: str) -> None:
        """Add a strike to each of these messages."""
        for reply in replies:
            before = await self.newest(reply) or _no_strike()
            strike = before.model_copy(update={"count": before.count + 1, "where": where, "at": datetime.now(UTC)})
            await self._store(_subject(reply), strike.model_dump_json(), newest_alone=True)

    async def add_deferral(self, reply: str) -> None:
        """Record that this delivery was left to a newer release."""
        before = await self.newest(reply) or _no_strike()
        later = before.model_copy(update={"put_off": before.put_off + 1})
        await self._store(_subject(reply), later.model_dump_json(), newest_alone=True)

    async def add_exit(self, service: str, where: str) -> None:
        """Record that the watchdog ends a process of this service."""
        await self._store(f"{_EXITS}{service}", json.dumps({"where": where}))

    async def exits_by_service(self) -> dict[str, int]:
        """How many processes of each service were ended, within the stream's retention."""
        with reported_as_unavailable("What the watchdog did cannot be read"):
            counts = await subjects_of(self._client, WATCHDOG, f"{_EXITS}*", seconds=_TIMEOUT)
        return {subject.removeprefix(_EXITS): number for subject, number in counts.items()}

    async def answer_deliveries(self, replies: Iterable[str], answer: bytes) -> None:
        """Answer for a blocked process: `+WPI` extends its deliveries, `-NAK` releases them to other processes."""
        with reported_as_unavailable("Deliveries cannot be answered"):
            for reply in replies:
                await self._client.publish(reply, answer)
            await self._client.flush(timeout=_TIMEOUT)

    async def _store(self, subject: str, body: str, *, newest_alone: bool = False) -> None:
        headers = {"Nats-Rollup": "sub"} if newest_alone else None
        with reported_as_unavailable("What the watchdog did cannot be recorded"):
            await self._jetstream.publish(subject, body.encode(), stream=WATCHDOG, headers=headers, timeout=_TIMEOUT)


async def connect_guard(settings: Settings, service: str) -> WatchdogStrikes:
    """Strikes over the guard's own connection, on which a permissions violation does not end the guard."""

    async def refused(error: Exception) -> None:
        log.warning("nats_error", error=repr(error))

    name = f"{service}-guard"
    arguments = address(settings).options | options(name) | {"error_cb": refused, "pending_size": 0}
    return WatchdogStrikes(await retry_until_connected(name, lambda: nats.connect(**arguments)))


def _no_strike() -> Strike:
    return Strike(count=0, where="", at=datetime.now(UTC))


def _subject(reply: str) -> str:
    """`$JS.ACK.<stream>.<consumer>.<deliveries>.<position>.…`, where newer servers add two tokens after ACK."""
    stream, consumer, _, position = reply.split(".")[:11][-7:-3]
    return f"watchdog.strike.{stream}.{consumer}.{position}"
