"""One-time tickets: the gateway that stores a ticket's id first may use it."""

import nats.js.errors
from nats.aio.client import Client
from nats.js.api import Header

from shared.bus.errors import BusUnavailable
from shared.bus.jetstream_api import NATS_ERRORS
from shared.bus.topology import USED_TICKETS

ALREADY_STORED_CODES = (10071, 10164)  # wrong last sequence; 10164: a concurrent publish in a cluster
TIMEOUT = 5.0


async def redeem(client: Client, ticket_id: str) -> bool:
    """Whether this was the first use. Raises BusUnavailable if that is unknown: then the ticket must not be used."""
    headers = {Header.EXPECTED_LAST_SUBJECT_SEQUENCE.value: "0"}
    try:
        await client.jetstream().publish(
            f"ticket.{ticket_id}", b"", stream=USED_TICKETS, headers=headers, timeout=TIMEOUT
        )
    except nats.js.errors.APIError as error:
        if error.err_code in ALREADY_STORED_CODES:
            return False
        raise BusUnavailable(f"The ticket cannot be redeemed: {error!r}") from error
    except NATS_ERRORS as error:
        raise BusUnavailable(f"The ticket cannot be redeemed: {error!r}") from error
    return True
