"""What nats-py leaves out: which of its errors leave things open, and all that a stream says of itself."""

import json
from typing import Any

import nats.errors
import nats.js.errors
from nats.aio.client import Client

# Everything that leaves open whether a request was carried out: time-outs, lost connections, changes of leader.
AMBIGUOUS = (nats.errors.Error, nats.js.errors.Error, TimeoutError, OSError)


async def stream_info(client: Client, stream: str, *, seconds: float, **asked: Any) -> dict[str, Any]:
    """What the broker says of a stream: `config`, `state`, `created` and more.

    Raises AMBIGUOUS, among them NotFoundError: no such stream.
    """
    request = json.dumps(asked).encode() if asked else b""
    answer = dict[str, Any](
        json.loads((await client.request(f"$JS.API.STREAM.INFO.{stream}", request, timeout=seconds)).data)
    )
    if error := answer.get("error"):
        nats.js.errors.APIError.from_error(error)  # raises it
    return answer


async def subjects_of(client: Client, stream: str, wanted: str, *, seconds: float) -> dict[str, int]:
    """Every subject that fits `wanted` and has messages, with how many. Raises what `stream_info` raises."""
    found: dict[str, int] = {}
    while True:  # the server lists at most 100,000 of them at a time
        info = await stream_info(client, stream, seconds=seconds, subjects_filter=wanted, offset=len(found))
        subjects = info["state"].get("subjects") or {}
        found.update(subjects)
        if not subjects or len(found) >= info.get("total", 0):
            return found
