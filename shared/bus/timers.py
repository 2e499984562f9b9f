"""Timers, one per session and kind, which the broker stores and fires. All functions raise BusUnavailable."""

from datetime import datetime

import nats.js.errors
from nats.aio.client import Client

from shared.bus.jetstream_api import reported_as_unavailable
from shared.bus.topology import TIMERS


async def arm_timer(client: Client, session_id: str, kind: str, at: datetime, payload: bytes) -> None:
    headers = {
        "Nats-Schedule": f"@at {at.astimezone().isoformat(timespec='milliseconds')}",
        "Nats-Schedule-Target": f"timerfired.{session_id}.{kind}",
    }
    with reported_as_unavailable("The timer cannot be armed"):
        await client.jetstream().publish(_subject(session_id, kind), payload, stream=TIMERS, headers=headers, timeout=5)


async def timer_payload(client: Client, session_id: str, kind: str) -> bytes | None:
    """The timer's payload; None if it is not armed or has fired."""
    with reported_as_unavailable("The timer cannot be read"):
        try:
            message = await client.jetstream().get_last_msg(TIMERS, _subject(session_id, kind))
        except nats.js.errors.NotFoundError:
            return None
    return message.data or b""


async def disarm_timer(client: Client, session_id: str, kind: str) -> None:
    with reported_as_unavailable("The timer cannot be cancelled"):
        await client.jetstream().purge_stream(TIMERS, subject=_subject(session_id, kind))


def _subject(session_id: str, kind: str) -> str:
    return f"timer.{session_id}.{kind}"
