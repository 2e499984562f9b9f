"""Logins that were ended before their time: an id each, known to every gateway for as long as a login can last."""

from nats.aio.client import Client

from shared.bus.api import AMBIGUOUS, subjects_of
from shared.bus.errors import BusDown
from shared.bus.topology import LOGOUTS

SUBJECT = "logout.*"
TIMEOUT = 5.0


async def end_login(client: Client, login_id: str) -> None:
    """Store that this login has ended; whoever subscribes to SUBJECT hears of it. Raises BusDown: try again."""
    try:
        await client.jetstream().publish(f"logout.{login_id}", b"", stream=LOGOUTS, timeout=TIMEOUT)
    except AMBIGUOUS as error:
        raise BusDown(f"The login cannot be ended: {error!r}") from error


async def ended_logins(client: Client) -> set[str]:
    """The ids of all of them. Raises BusDown, also where the stream is not provisioned yet."""
    try:
        subjects = await subjects_of(client, LOGOUTS, SUBJECT, seconds=TIMEOUT)
    except AMBIGUOUS as error:
        raise BusDown(f"Nobody says which logins have ended: {error!r}") from error
    return {login_of(subject) for subject in subjects}


def login_of(subject: str) -> str:
    return subject.partition(".")[2]
