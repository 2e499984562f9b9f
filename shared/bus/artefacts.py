"""Bodies too large for an event, in a JetStream object store.

Names begin with their session. The subject of each chunk carries session and name. So a session's artefacts are found
without reading others', and chunks that a crash left behind are deleted with their session:

    $O.ARTEFACTS.C.<session>.<name>.<write id>  the chunks of one write, at least one
    $O.ARTEFACTS.M.<name>                       the object's metadata; the artefact exists once this is stored
"""

import asyncio
import base64
import contextlib
import io
import json
from collections.abc import AsyncIterator, Iterator
from hashlib import sha256

import nats.js.errors
from nats.aio.client import Client
from nats.js.api import Header, ObjectInfo, ObjectMetaOptions
from nats.js.object_store import ObjectStore

from parley.events.values import Artefact
from shared.bus.errors import BusUnavailable
from shared.bus.jetstream_api import reported_as_unavailable, subjects_of
from shared.bus.topology import ARTEFACTS, BUCKET
from shared.log import EventTooLarge

MAX_BYTES = 32 * 1024 * 1024
CHUNK = 128 * 1024
REQUEST_TIMEOUT = 5.0  # seconds for one request
TRANSFER_TIMEOUT = 30.0  # seconds for a whole body


class Artefacts:
    """The object store of one process. Every method raises BusUnavailable."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._jetstream = client.jetstream(timeout=REQUEST_TIMEOUT)
        self._objects = ObjectStore(BUCKET, ARTEFACTS, self._jetstream)

    async def keep(self, name: str, data: bytes) -> Artefact:
        """Store the data under this name, unless the same data is stored already. Raises EventTooLarge."""
        if len(data) > MAX_BYTES:
            raise EventTooLarge(
                f"The artefact {name} would be {len(data)} bytes; {MAX_BYTES} are allowed: ask for less."
            )
        artefact = Artefact(name=name, size=len(data), sha256=sha256(data).hexdigest())
        async with _time_limit(f"The artefact {name} cannot be kept"):
            await self._require_bucket()
            before = await self._info(name)
            if before is None or before.digest != _digest(data):
                await self._write(name, data)  # the chunks of an earlier body are deleted with their session
        return artefact

    async def fetch(self, name: str) -> bytes | None:
        """The data stored under this name; None if there is none."""
        async with _time_limit(f"The artefact {name} cannot be fetched"):
            await self._require_bucket()
            info = await self._info(name)
            if info is None:
                return None
            body = await self._read(f"$O.{BUCKET}.C.{info.nuid}")
        if info.digest != _digest(body):
            raise BusUnavailable(
                f"The artefact {name} is not whole: it may be being written, or dropped, at this moment."
            )
        return body

    async def drop(self, prefix: str) -> None:
        """Delete every artefact of a session whose name starts with `prefix`, and partial writes of them."""
        chunks = f"$O.{BUCKET}.C.{_session_token(prefix)}"
        with reported_as_unavailable(f"The artefacts {prefix}… cannot be dropped"):
            try:
                subjects = await subjects_of(self._client, ARTEFACTS, f"{chunks}.>", seconds=REQUEST_TIMEOUT)
                for name in {subject.split(".")[4] for subject in subjects}:
                    if _name(name).startswith(prefix):  # the chunks last: they are how it is found
                        await self._jetstream.purge_stream(ARTEFACTS, subject=f"$O.{BUCKET}.M.{name}")
                        await self._jetstream.purge_stream(ARTEFACTS, subject=f"{chunks}.{name}.*")
            except nats.js.errors.NotFoundError:
                return  # there is no bucket

    async def _require_bucket(self) -> None:
        """Raise BusUnavailable without a bucket: otherwise the artefact would seem to be missing."""
        try:
            await self._jetstream.stream_info(ARTEFACTS)
        except nats.js.errors.NotFoundError as error:
            raise BusUnavailable("There is no object store for artefacts: run `parley provision`.") from error

    async def _info(self, name: str) -> ObjectInfo | None:
        try:
            return await self._objects.get_info(name)
        except nats.js.errors.ObjectNotFoundError:
            return None

    async def _read(self, chunks: str) -> bytes:
        """Read without a consumer, unlike nats-py's `get`: a consumer could deliver messages to any subject."""
        body, after = io.BytesIO(), 0
        while True:
            try:
                message = await self._jetstream.get_msg(ARTEFACTS, seq=after + 1, subject=chunks, next=True)
            except nats.js.errors.NotFoundError:
                return body.getvalue()
            body.write(message.data or b"")
            after = message.seq or 0

    async def _write(self, name: str, data: bytes) -> None:
        """Choose the chunks' subjects: nats-py's `put` uses random ones, so partial writes could not be found."""
        writing = f"{_session_token(name)}.{_token(name)}.{self._client._nuid.next().decode()}"
        chunks = 0
        for chunk in _chunks(data):
            await self._jetstream.publish(f"$O.{BUCKET}.C.{writing}", chunk, stream=ARTEFACTS)
            chunks += 1
        options = ObjectMetaOptions(max_chunk_size=CHUNK)
        info = ObjectInfo(
            name=name,
            bucket=BUCKET,
            nuid=writing,
            size=len(data),
            chunks=chunks,
            digest=_digest(data),
            options=options,
        )
        body, rollup = json.dumps(info.as_dict()).encode(), {Header.ROLLUP.value: "sub"}
        await self._jetstream.publish(f"$O.{BUCKET}.M.{_token(name)}", body, stream=ARTEFACTS, headers=rollup)


@contextlib.asynccontextmanager
async def _time_limit(failing: str) -> AsyncIterator[None]:
    with reported_as_unavailable(failing):
        async with asyncio.timeout(TRANSFER_TIMEOUT):
            yield


def _chunks(data: bytes) -> Iterator[bytes]:
    return (data[start : start + CHUNK] for start in range(0, max(len(data), 1), CHUNK))


def _digest(data: bytes) -> str:
    return f"SHA-256={base64.urlsafe_b64encode(sha256(data).digest()).decode()}"


def _session_token(name: str) -> str:
    """The session of this artefact as a token of a subject."""
    return _token(name.partition("/")[0])


def _token(name: str) -> str:
    """The name as a token of a subject, encoded as every NATS object store does."""
    return base64.urlsafe_b64encode(name.encode()).decode()


def _name(token: str) -> str:
    try:
        return base64.urlsafe_b64decode(token).decode()
    except ValueError:
        return ""  # not an artefact of Parley
