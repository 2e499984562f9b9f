"""What nats-py leaves out: which of its errors leave things open, and the subjects of a stream."""

import json

import nats.errors
import nats.js.errors
from nats.aio.client import Client

# Everything that leaves open whether a request was carried out: time-outs, lost connections, changes of leader.
AMBIGUOUS = (nats.errors.Error, nats.js.errors.Error, TimeoutError, OSError)


async def subjects_of(client: Client, stream: str, wanted: str, *, seconds: float) -> dict[str, int]:
    """Every subject that fits `wanted` and has messages, with how many.

    Raises AMBIGUOUS, among them NotFoundError: no such stream.
    """
    found: dict[str, int] = {}
    while True:  # the server lists at most 100,000 of them at a time
        request = json.dumps({"subjects_filter": wanted, "offset": len(found)}).encode()
        reply = await client.request(f"$JS.API.STREAM.INFO.{stream}", request, timeout=seconds)
        info = json.loads(reply.data)
        if error := info.get("error"):
            nats.js.errors.APIError.from_error(error)  # raises it
        subjects = info["state"].get("subjects") or {}
        found.update(subjects)
        if not subjects or len(found) >= info.get("total", 0):
            return found
