"""Tickets and logouts, stored where every gateway sees them: a ticket can be used once, an ended login never again."""

import nats.js.errors
from nats.aio.client import Client
from nats.js.api import Header

from shared.bus.jetstream_api import reported_as_unavailable, subjects_of
from shared.bus.topology import LOGOUTS, USED_TICKETS

SUBJECT = "logout.*"
TIMEOUT = 5.0
ALREADY_STORED_CODES = (10071, 10164)  # wrong last sequence; 10164: a concurrent publish in a cluster


async def end_login(client: Client, login_id: str) -> None:
    """Store that this login has ended, and notify the subscribers to SUBJECT. Raises BusUnavailable."""
    with reported_as_unavailable("The login cannot be ended"):
        await client.jetstream().publish(f"logout.{login_id}", b"", stream=LOGOUTS, timeout=TIMEOUT)


async def ended_logins(client: Client) -> set[str]:
    """The ids of all ended logins. Raises BusUnavailable, also if the stream is not provisioned."""
    with reported_as_unavailable("The ended logins cannot be read"):
        subjects = await subjects_of(client, LOGOUTS, SUBJECT, seconds=TIMEOUT)
    return {login_of(subject) for subject in subjects}


def login_of(subject: str) -> str:
    return subject.partition(".")[2]


async def redeem(client: Client, ticket_id: str) -> bool:
    """Whether this was the first use. Raises BusUnavailable if that is unknown: then the ticket must not be used."""
    headers = {Header.EXPECTED_LAST_SUBJECT_SEQUENCE.value: "0"}
    subject = f"ticket.{ticket_id}"
    with reported_as_unavailable("The ticket cannot be redeemed"):
        try:
            await client.jetstream().publish(subject, b"", stream=USED_TICKETS, headers=headers, timeout=TIMEOUT)
        except nats.js.errors.APIError as error:
            if error.err_code not in ALREADY_STORED_CODES:
                raise
            return False
    return True
