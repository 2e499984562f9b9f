"""Timers, one for each session and kind, which the broker keeps and fires. All of them raise BusDown."""

from datetime import datetime

import nats.js.errors
from nats.aio.client import Client

from shared.bus.api import AMBIGUOUS
from shared.bus.errors import BusDown
from shared.bus.topology import TIMERS


async def arm_timer(client: Client, session_id: str, kind: str, at: datetime, payload: bytes) -> None:
    headers = {
        "Nats-Schedule": f"@at {at.astimezone().isoformat(timespec='milliseconds')}",
        "Nats-Schedule-Target": f"timerfired.{session_id}.{kind}",
    }
    try:
        await client.jetstream().publish(_subject(session_id, kind), payload, stream=TIMERS, headers=headers, timeout=5)
    except AMBIGUOUS as error:
        raise BusDown(f"The timer cannot be armed: {error!r}") from error


async def timer_payload(client: Client, session_id: str, kind: str) -> bytes | None:
    """None where it is not armed, or has fired."""
    try:
        found = await client.jetstream().get_last_msg(TIMERS, _subject(session_id, kind))
    except nats.js.errors.NotFoundError:
        return None
    except AMBIGUOUS as error:
        raise BusDown(f"The timer cannot be read: {error!r}") from error
    return found.data or b""


async def disarm_timer(client: Client, session_id: str, kind: str) -> None:
    try:
        await client.jetstream().purge_stream(TIMERS, subject=_subject(session_id, kind))
    except AMBIGUOUS as error:
        raise BusDown(f"The timer cannot be cancelled: {error!r}") from error


def _subject(session_id: str, kind: str) -> str:
    return f"timer.{session_id}.{kind}"
