"""JetStream requests that nats-py does not offer, and the errors after which an outcome is unknown."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import nats.errors
import nats.js.errors
from nats.aio.client import Client

from shared.bus.errors import BusUnavailable

# After any of these the outcome of a request is unknown: time-outs, lost connections, leader changes.
NATS_ERRORS = (nats.errors.Error, nats.js.errors.Error, TimeoutError, OSError)


@contextmanager
def reported_as_unavailable(failing: str) -> Iterator[None]:
    """Inside the block NATS_ERRORS become BusUnavailable; `failing` says what cannot be done."""
    try:
        yield
    except NATS_ERRORS as error:
        raise BusUnavailable(f"{failing}: {error!r}") from error


async def stream_info(client: Client, stream: str, *, seconds: float, **asked: Any) -> dict[str, Any]:
    """The stream's description: `config`, `state`, `created` and more.

    Raises NATS_ERRORS; NotFoundError, one of them, means that there is no such stream.
    """
    request = json.dumps(asked).encode() if asked else b""
    answer = dict[str, Any](
        json.loads((await client.request(f"$JS.API.STREAM.INFO.{stream}", request, timeout=seconds)).data)
    )
    if error := answer.get("error"):
        nats.js.errors.APIError.from_error(error)  # raises it
    return answer


async def subjects_of(client: Client, stream: str, pattern: str, *, seconds: float) -> dict[str, int]:
    """Every subject that matches `pattern` and has messages, with their number. Raises NATS_ERRORS."""
    counts: dict[str, int] = {}
    while True:  # the server lists at most 100,000 of them at a time
        info = await stream_info(client, stream, seconds=seconds, subjects_filter=pattern, offset=len(counts))
        subjects = info["state"].get("subjects") or {}
        counts.update(subjects)
        if not subjects or len(counts) >= info.get("total", 0):
            return counts
