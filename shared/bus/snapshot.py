"""Saves a stream to a file and restores it, by the broker's snapshots, which keep every message's position.

Positions matter because each event names the one it follows. Republished events would get new positions.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from nats.aio.client import Client

from shared.bus.bus import Bus
from shared.bus.jetstream_api import reported_as_unavailable

REQUEST_TIMEOUT = 30.0  # seconds for one request, or one chunk
CHUNK = 128 * 1024
NOT_FOUND = 10059


class SnapshotError(Exception):
    """The broker refuses, or its snapshot is incomplete; the text says why."""


type State = dict[str, Any]


async def save(bus: Bus, stream: str, path: Path) -> State | None:
    """Write the stream and its consumers to `path`. Returns its configuration and state; None if it does not exist.

    The snapshot is consistent even while messages are stored. Raises BusUnavailable, SnapshotError, OSError.
    """
    client = bus.client
    with reported_as_unavailable(f"The snapshot of {stream} broke off"):
        inbox = client.new_inbox()
        arriving = await client.subscribe(inbox)
        try:
            request = {"deliver_subject": inbox, "chunk_size": CHUNK}
            answer = await _ask(client, f"SNAPSHOT.{stream}", request)
            if answer.get("error", {}).get("err_code") == NOT_FOUND:
                return None
            _raise_on_error(answer, stream)
            with path.open("wb") as file:
                async for chunk in _chunks(arriving):
                    await asyncio.to_thread(file.write, chunk)
        finally:
            await arriving.unsubscribe()
    return {"config": answer["config"], "state": answer["state"]}


async def restore(bus: Bus, stream: str, path: Path, known: State) -> int:
    """Restore the stream, which must not exist, from a snapshot. Returns its number of messages.

    Raises BusUnavailable, SnapshotError, OSError.
    """
    client = bus.client
    with reported_as_unavailable(f"Bringing back {stream} broke off"):
        answer = await _ask(client, f"RESTORE.{stream}", known)
        _raise_on_error(answer, stream)
        target = str(answer["deliver_subject"])
        with path.open("rb") as file:
            while chunk := await asyncio.to_thread(file.read, CHUNK):
                refused = (await client.request(target, chunk, timeout=REQUEST_TIMEOUT)).data
                if refused:
                    _raise_on_error(json.loads(refused), stream)
        restored = json.loads((await client.request(target, b"", timeout=REQUEST_TIMEOUT)).data)
        _raise_on_error(restored, stream)
    return int(restored["state"]["messages"])


async def message_count(bus: Bus, stream: str) -> int | None:
    """The number of messages in the stream; None if it does not exist. Raises BusUnavailable."""
    with reported_as_unavailable(f"The stream {stream} cannot be asked"):
        answer = await _ask(bus.client, f"INFO.{stream}", {})
    return int(answer["state"]["messages"]) if "state" in answer else None


async def remove_empty(bus: Bus, stream: str) -> None:
    """Delete the stream so that it can be restored. Raises BusUnavailable, SnapshotError."""
    with reported_as_unavailable(f"The empty stream {stream} cannot be removed"):
        _raise_on_error(await _ask(bus.client, f"DELETE.{stream}", {}), stream)


async def _chunks(subscription: Any) -> AsyncIterator[bytes]:
    """The chunks of a snapshot. Acknowledging one requests the next. An empty one is the end or has the error."""
    while True:
        message = await subscription.next_msg(timeout=REQUEST_TIMEOUT)
        if not message.data:
            if (headers := message.headers or {}).get("Status", "204") not in ("200", "204"):
                raise SnapshotError(f"the broker gave up: {headers.get('Description', headers['Status'])}")
            return
        yield message.data
        if message.reply:
            await message.respond(b"")


async def _ask(client: Client, subject: str, request: State) -> State:
    reply = await client.request(f"$JS.API.STREAM.{subject}", json.dumps(request).encode(), timeout=REQUEST_TIMEOUT)
    answer: State = json.loads(reply.data)
    return answer


def _raise_on_error(answer: State, stream: str) -> None:
    if error := answer.get("error"):
        raise SnapshotError(f"stream {stream}: {error.get('description')} ({error.get('err_code')})")
