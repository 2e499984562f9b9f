"""Deliveries during which the watchdog ended a process, recorded where every replica finds them.

    watchdog.exit.<service>                           a process of this service was ended
    watchdog.strike.<stream>.<consumer>.<position>    while it had this message in hand; the newest one holds the count

The same record counts the deliveries that were left to a newer release, which are no tries of the message.

A message with one strike is handled alone, one with STRIKES is given up: the second time nothing else was in hand.
"""

import json
from collections.abc import Iterable
from datetime import UTC, datetime

import nats
import nats.js.errors
import structlog
from nats.aio.client import Client
from pydantic import BaseModel

from shared.bus.api import AMBIGUOUS, subjects_of
from shared.bus.connection import address, options, until_there
from shared.bus.errors import BusDown
from shared.bus.topology import WATCHDOG
from shared.settings import Settings

log = structlog.get_logger("bus")
STRIKES = 2
_EXITS = "watchdog.exit."
_TIMEOUT = 2  # seconds for one answer


class Strike(BaseModel):
    """The newest strike of a message: how many there are, and where the event loop was blocked.

    `put_off` counts deliveries that were left to a newer release.
    """

    count: int
    where: str
    at: datetime
    put_off: int = 0


class Strikes:
    """Every method raises BusDown."""

    def __init__(self, client: Client) -> None:
        self._jetstream = client.jetstream(timeout=_TIMEOUT)
        self._client = client

    async def of(self, reply: str) -> Strike | None:
        """The newest strike of the message with this acknowledgement subject; None where there is none."""
        try:
            found = await self._jetstream.get_last_msg(WATCHDOG, _subject(reply))
        except nats.js.errors.NotFoundError:
            return None
        except AMBIGUOUS as error:
            raise BusDown(f"The strikes of a message cannot be read: {error!r}") from error
        return Strike.model_validate_json(found.data or b"")

    async def add(self, replies: Iterable[str], where: str) -> None:
        """One more for each of these messages."""
        for reply in replies:
            before = await self.of(reply) or _none()
            strike = before.model_copy(update={"count": before.count + 1, "where": where, "at": datetime.now(UTC)})
            await self._store(_subject(reply), strike.model_dump_json(), newest_alone=True)

    async def put_off(self, reply: str) -> None:
        """This delivery was left to a newer release."""
        before = await self.of(reply) or _none()
        later = before.model_copy(update={"put_off": before.put_off + 1})
        await self._store(_subject(reply), later.model_dump_json(), newest_alone=True)

    async def add_exit(self, service: str, where: str) -> None:
        """A process of this service is ended."""
        await self._store(f"{_EXITS}{service}", json.dumps({"where": where}))

    async def exits_by_service(self) -> dict[str, int]:
        """How many processes of each service were ended, as far back as the stream remembers."""
        try:
            found = await subjects_of(self._client, WATCHDOG, f"{_EXITS}*", seconds=_TIMEOUT)
        except AMBIGUOUS as error:
            raise BusDown(f"What the watchdog did cannot be read: {error!r}") from error
        return {subject.removeprefix(_EXITS): number for subject, number in found.items()}

    async def tell(self, replies: Iterable[str], answer: bytes) -> None:
        """Answer in place of a process that cannot: `+WPI` keeps a message, `-NAK` hands it to another process."""
        try:
            for reply in replies:
                await self._client.publish(reply, answer)
            await self._client.flush(timeout=_TIMEOUT)
        except AMBIGUOUS as error:
            raise BusDown(f"Deliveries cannot be answered: {error!r}") from error

    async def _store(self, subject: str, body: str, *, newest_alone: bool = False) -> None:
        headers = {"Nats-Rollup": "sub"} if newest_alone else None
        try:
            await self._jetstream.publish(subject, body.encode(), stream=WATCHDOG, headers=headers, timeout=_TIMEOUT)
        except AMBIGUOUS as error:
            raise BusDown(f"What the watchdog did cannot be recorded: {error!r}") from error


async def connect_guard(settings: Settings, service: str) -> Strikes:
    """In a connection of the guard's own: a refusal ends neither it nor what it has still to do."""

    async def refused(error: Exception) -> None:
        log.warning("nats_error", error=repr(error))

    name = f"{service}-guard"
    wanted = address(settings).options | options(name) | {"error_cb": refused, "pending_size": 0}
    return Strikes(await until_there(name, lambda: nats.connect(**wanted)))


def _none() -> Strike:
    return Strike(count=0, where="", at=datetime.now(UTC))


def _subject(reply: str) -> str:
    """`$JS.ACK.<stream>.<consumer>.<deliveries>.<position>.…`, in which newer servers put two words after ACK."""
    stream, consumer, _, position = reply.split(".")[:11][-7:-3]
    return f"watchdog.strike.{stream}.{consumer}.{position}"
