"""One-time tickets: what may be used once is used by whoever stores its id first, on whichever gateway."""

import nats.js.errors
from nats.aio.client import Client
from nats.js.api import Header

from shared.bus.api import AMBIGUOUS
from shared.bus.errors import BusDown
from shared.bus.topology import USED_TICKETS

TAKEN = (10071, 10164)  # wrong last sequence; 10164: another one's publish is under way, in a cluster
TIMEOUT = 5.0


async def redeem(client: Client, ticket_id: str) -> bool:
    """Whether this was the first use. Raises BusDown where nobody can know: then the ticket is to be given up."""
    headers = {Header.EXPECTED_LAST_SUBJECT_SEQUENCE.value: "0"}
    try:
        await client.jetstream().publish(
            f"ticket.{ticket_id}", b"", stream=USED_TICKETS, headers=headers, timeout=TIMEOUT
        )
    except nats.js.errors.APIError as error:
        if error.err_code in TAKEN:
            return False
        raise BusDown(f"The ticket cannot be redeemed: {error!r}") from error
    except AMBIGUOUS as error:
        raise BusDown(f"The ticket cannot be redeemed: {error!r}") from error
    return True
