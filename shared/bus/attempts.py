"""How often the handling of a message has begun, counted in NATS for all replicas.

JetStream counts deliveries. That is not the same: a message that blocks its process takes others along, which were
delivered beside it and may not even have begun. A delivery that was put off until later is no attempt either.

The first attempt is not counted, so that a message which is handled at once costs no request.
"""

import json

import nats.js.errors
from nats.aio.client import Client

from shared.bus.jetstream_api import reported_as_unavailable
from shared.bus.topology import ATTEMPTS

_TIMEOUT = 2  # seconds for one answer


class Attempts:
    """The subject `attempt.<stream>.<consumer>.<position>` has a message's count. Methods raise BusUnavailable."""

    def __init__(self, client: Client) -> None:
        self._jetstream = client.jetstream(timeout=_TIMEOUT)

    async def add(self, reply: str, attempts: int) -> None:
        """Add to the attempts at the message with this acknowledgement subject."""
        with reported_as_unavailable("An attempt cannot be recorded"):
            await self._jetstream.publish(_subject(reply), headers={"Nats-Incr": f"{attempts:+}"}, timeout=_TIMEOUT)

    async def count(self, reply: str) -> int:
        """The attempts that were added."""
        with reported_as_unavailable("The attempts at a message cannot be read"):
            try:
                message = await self._jetstream.get_last_msg(ATTEMPTS, _subject(reply))
            except nats.js.errors.NotFoundError:
                return 0
        return int(json.loads(message.data or b"{}")["val"])


def _subject(reply: str) -> str:
    """`$JS.ACK.<stream>.<consumer>.<deliveries>.<position>.…`, where newer servers add two tokens after ACK."""
    stream, consumer, _, position = reply.split(".")[:11][-7:-3]
    return f"attempt.{stream}.{consumer}.{position}"
