"""The log's format, stored in the stream's metadata and checked before anything is read or written.

It changes only when single messages can no longer be read; what one event needs is stated in its envelope.
"""

import asyncio
from pathlib import Path
from typing import Any

import structlog
from nats.aio.client import Client

from shared.bus.jetstream_api import NATS_ERRORS, stream_info
from shared.bus.topology import FORMAT_KEY, LOG_FORMAT, SESSIONS

log = structlog.get_logger("bus")
REQUEST_TIMEOUT = 2.0  # seconds
POLL_INTERVAL = 0.25  # seconds between two checks for an unprovisioned stream


class WrongFormat(Exception):
    """This release can read neither the log nor the rows made from it; the text says what to do."""


def require_format(stream: dict[str, Any], home: Path) -> None:
    """Raise WrongFormat unless this stream, as the broker or a backup describes it, has this release's format.

    An empty stream without a format is accepted: provisioning sets the format. `home`: PARLEY_HOME.
    """
    mark = (stream["config"].get("metadata") or {}).get(FORMAT_KEY)
    if mark == LOG_FORMAT or (mark is None and not stream["state"]["messages"]):
        return
    has = f"has format {mark}" if mark else "has events, and no mark of their format"
    raise WrongFormat(
        refusal(
            f"The stream {SESSIONS} {has}",
            f"for `parley up` with `mv {home} {home}-format-{mark or 'unknown'}`; for containers with `docker compose "
            "down` and then `docker compose -p parley-2 up`; in Kubernetes with another namespace; otherwise name an "
            "empty server with NATS_URL and an empty database with DATABASE_URL",
        )
    )


def refusal(what: str, set_aside: str) -> str:
    """Why a store of another format is not opened, and how to set it aside."""
    return (
        f"{what}, and this release of Parley reads format {LOG_FORMAT}. Use the release that made it, or set it aside "
        f"and begin anew: {set_aside}. Nothing was changed."
    )


async def wait_for_log(client: Client, home: Path) -> None:
    """Wait until the log exists, and check its format. Raises WrongFormat."""
    waited = False
    while True:
        try:
            require_format(await stream_info(client, SESSIONS, seconds=REQUEST_TIMEOUT), home)
            return
        except NATS_ERRORS as error:
            if not waited:
                hint = "waiting; run `parley provision`"
                log.warning("not_provisioned", stream=SESSIONS, error=repr(error), hint=hint)
            waited = True
        await asyncio.sleep(POLL_INTERVAL)
