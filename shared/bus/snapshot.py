"""A stream as one file, and back: the broker's own snapshots, so that every message keeps its position.

Positions matter: each event names the one it follows. Publishing copies of the events would give them other ones.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from nats.aio.client import Client

from shared.bus.api import AMBIGUOUS
from shared.bus.bus import Bus
from shared.bus.errors import BusDown

ANSWER = 30.0  # seconds for one request, or one chunk
CHUNK = 128 * 1024
NOT_FOUND = 10059


class SnapshotError(Exception):
    """The broker refuses, or what it sent is not whole; the message says why."""


type State = dict[str, Any]


async def save(bus: Bus, stream: str, path: Path) -> State | None:
    """Write the stream with its consumers to `path`; its configuration and state, or None where there is none.

    Messages may be stored meanwhile: the file has those of one moment. Raises BusDown, SnapshotError, OSError.
    """
    client = bus.client
    try:
        inbox = client.new_inbox()
        arriving = await client.subscribe(inbox)
        try:
            request = {"deliver_subject": inbox, "chunk_size": CHUNK}
            answer = await _ask(client, f"SNAPSHOT.{stream}", request)
            if answer.get("error", {}).get("err_code") == NOT_FOUND:
                return None
            _check(answer, stream)
            with path.open("wb") as file:
                async for chunk in _chunks(arriving):
                    await asyncio.to_thread(file.write, chunk)
        finally:
            await arriving.unsubscribe()
    except AMBIGUOUS as error:
        raise BusDown(f"The snapshot of {stream} broke off: {error!r}") from error
    return {"config": answer["config"], "state": answer["state"]}


async def load(bus: Bus, stream: str, path: Path, known: State) -> int:
    """Make the stream again from a snapshot; how many messages it has. It must not be there.

    Raises BusDown, SnapshotError, OSError.
    """
    client = bus.client
    try:
        answer = await _ask(client, f"RESTORE.{stream}", known)
        _check(answer, stream)
        target = str(answer["deliver_subject"])
        with path.open("rb") as file:
            while chunk := await asyncio.to_thread(file.read, CHUNK):
                refused = (await client.request(target, chunk, timeout=ANSWER)).data
                if refused:
                    _check(json.loads(refused), stream)
        made = json.loads((await client.request(target, b"", timeout=ANSWER)).data)
        _check(made, stream)
    except AMBIGUOUS as error:
        raise BusDown(f"Bringing back {stream} broke off: {error!r}") from error
    return int(made["state"]["messages"])


async def messages(bus: Bus, stream: str) -> int | None:
    """How many messages the stream has; None where there is none. Raises BusDown."""
    try:
        answer = await _ask(bus.client, f"INFO.{stream}", {})
    except AMBIGUOUS as error:
        raise BusDown(f"The stream {stream} cannot be asked: {error!r}") from error
    return int(answer["state"]["messages"]) if "state" in answer else None


async def remove_empty(bus: Bus, stream: str) -> None:
    """So that it can be made from a snapshot. Raises BusDown, SnapshotError."""
    try:
        _check(await _ask(bus.client, f"DELETE.{stream}", {}), stream)
    except AMBIGUOUS as error:
        raise BusDown(f"The empty stream {stream} cannot be removed: {error!r}") from error


async def _chunks(arriving: Any) -> AsyncIterator[bytes]:
    """The parts of a snapshot; each is acknowledged, which asks for more. An empty one is the end, or says why not."""
    while True:
        message = await arriving.next_msg(timeout=ANSWER)
        if not message.data:
            if (headers := message.headers or {}).get("Status", "204") not in ("200", "204"):
                raise SnapshotError(f"the broker gave up: {headers.get('Description', headers['Status'])}")
            return
        yield message.data
        if message.reply:
            await message.respond(b"")


async def _ask(client: Client, subject: str, request: State) -> State:
    reply = await client.request(f"$JS.API.STREAM.{subject}", json.dumps(request).encode(), timeout=ANSWER)
    answer: State = json.loads(reply.data)
    return answer


def _check(answer: State, stream: str) -> None:
    if error := answer.get("error"):
        raise SnapshotError(f"stream {stream}: {error.get('description')} ({error.get('err_code')})")
