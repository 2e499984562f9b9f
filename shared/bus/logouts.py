"""Ids of logins that were ended before they expired, stored as long as a login can last."""

from nats.aio.client import Client

from shared.bus.errors import BusUnavailable
from shared.bus.jetstream_api import NATS_ERRORS, subjects_of
from shared.bus.topology import LOGOUTS

SUBJECT = "logout.*"
TIMEOUT = 5.0


async def end_login(client: Client, login_id: str) -> None:
    """Store that this login has ended, and notify the subscribers to SUBJECT. Raises BusUnavailable."""
    try:
        await client.jetstream().publish(f"logout.{login_id}", b"", stream=LOGOUTS, timeout=TIMEOUT)
    except NATS_ERRORS as error:
        raise BusUnavailable(f"The login cannot be ended: {error!r}") from error


async def ended_logins(client: Client) -> set[str]:
    """The ids of all ended logins. Raises BusUnavailable, also if the stream is not provisioned."""
    try:
        subjects = await subjects_of(client, LOGOUTS, SUBJECT, seconds=TIMEOUT)
    except NATS_ERRORS as error:
        raise BusUnavailable(f"The ended logins cannot be read: {error!r}") from error
    return {login_of(subject) for subject in subjects}


def login_of(subject: str) -> str:
    return subject.partition(".")[2]
