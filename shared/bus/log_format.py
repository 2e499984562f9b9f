"""The mark of the log's format: metadata of the stream, held against this release's before anything is read or written.

It changes only where messages cannot be read one by one; what one event needs is said in its envelope.
"""

import asyncio
from typing import Any

import structlog
from nats.aio.client import Client

from shared.bus.api import AMBIGUOUS, stream_info
from shared.bus.topology import LOG_FORMAT, MARK, SESSIONS

log = structlog.get_logger("bus")
ANSWER = 2.0  # seconds
LOOK_AGAIN = 0.25  # seconds between two looks for what provisioning has not made yet


class WrongFormat(Exception):
    """This release cannot read the log; the message says what to do."""


def require_format(stream: dict[str, Any]) -> None:
    """Raise WrongFormat unless this stream, as the broker or a backup describes it, has this release's format.

    An empty one without a mark is nobody's yet: provisioning marks it.
    """
    mark = (stream["config"].get("metadata") or {}).get(MARK)
    if mark == LOG_FORMAT or (mark is None and not stream["state"]["messages"]):
        return
    has = f"has format {mark}" if mark else "has events, and no mark of their format"
    raise WrongFormat(
        f"The stream {SESSIONS} {has}, and this release of Parley reads format {LOG_FORMAT}. Use the release that made "
        "the stream, or name an empty server with NATS_URL and an empty database with DATABASE_URL (or another "
        "PARLEY_HOME). Nothing was changed."
    )


async def log_of_this_format(client: Client) -> None:
    """Wait until the log is there, and hold its mark against this release's. Raises WrongFormat."""
    waited = False
    while True:
        try:
            require_format(await stream_info(client, SESSIONS, seconds=ANSWER))
            return
        except AMBIGUOUS as error:
            if not waited:
                hint = "waiting; run `parley provision`"
                log.warning("not_provisioned", stream=SESSIONS, error=repr(error), hint=hint)
            waited = True
        await asyncio.sleep(LOOK_AGAIN)
