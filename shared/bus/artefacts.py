"""Bodies too large for an event, in a JetStream object store.

Names begin with their session. The subject of each chunk carries session and name, so that a session's artefacts are
found without a look at any other's, and what a crash left half written goes with its session too:

    $O.ARTEFACTS.C.<session>.<name>.<writing>   the chunks of one writing of it, at least one
    $O.ARTEFACTS.M.<name>                       what object stores know of it; it counts as kept from here on
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
from shared.bus.api import AMBIGUOUS, subjects_of
from shared.bus.errors import BusDown
from shared.bus.topology import ARTEFACTS, BUCKET
from shared.log import TooLarge

MAX_BYTES = 32 * 1024 * 1024
CHUNK = 128 * 1024
ANSWER = 5.0  # seconds for one request
PATIENCE = 30.0  # seconds for a whole body


class Artefacts:
    """The bucket as one process uses it. Every method raises BusDown."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._jetstream = client.jetstream(timeout=ANSWER)
        self._objects = ObjectStore(BUCKET, ARTEFACTS, self._jetstream)

    async def keep(self, name: str, data: bytes) -> Artefact:
        """Store these bytes under this name; the same again is no work. Raises TooLarge."""
        if len(data) > MAX_BYTES:
            raise TooLarge(f"The artefact {name} would be {len(data)} bytes; {MAX_BYTES} are allowed: ask for less.")
        artefact = Artefact(name=name, size=len(data), sha256=sha256(data).hexdigest())
        async with _bounded(f"The artefact {name} cannot be kept"):
            await self._provisioned()
            before = await self._info(name)
            if before is None or before.digest != _digest(data):
                await self._write(name, data)  # the chunks of an earlier body go with their session
        return artefact

    async def fetch(self, name: str) -> bytes | None:
        """The bytes kept under this name, as they were; None where nothing is."""
        async with _bounded(f"The artefact {name} cannot be fetched"):
            await self._provisioned()
            info = await self._info(name)
            if info is None:
                return None
            body = await self._read(f"$O.{BUCKET}.C.{info.nuid}")
        if info.digest != _digest(body):
            raise BusDown(f"The artefact {name} is not whole: it may be being written, or dropped, at this moment.")
        return body

    async def drop(self, prefix: str) -> None:
        """Forget every artefact of a session whose name begins so, and what was never wholly written of one."""
        chunks = f"$O.{BUCKET}.C.{_session(prefix)}"
        try:
            found = await subjects_of(self._client, ARTEFACTS, f"{chunks}.>", seconds=ANSWER)
            for name in {subject.split(".")[4] for subject in found}:
                if _name(name).startswith(prefix):  # its chunks, by which it is found, last
                    await self._jetstream.purge_stream(ARTEFACTS, subject=f"$O.{BUCKET}.M.{name}")
                    await self._jetstream.purge_stream(ARTEFACTS, subject=f"{chunks}.{name}.*")
        except nats.js.errors.NotFoundError:
            return  # no bucket, nothing kept
        except AMBIGUOUS as error:
            raise BusDown(f"The artefacts {prefix}… cannot be dropped: {error!r}") from error

    async def _provisioned(self) -> None:
        """Without its bucket an artefact would be missing, where it is the bucket that is."""
        try:
            await self._jetstream.stream_info(ARTEFACTS)
        except nats.js.errors.NotFoundError as error:
            raise BusDown("There is no object store for artefacts: run `parley provision`.") from error

    async def _info(self, name: str) -> ObjectInfo | None:
        try:
            return await self._objects.get_info(name)
        except nats.js.errors.ObjectNotFoundError:
            return None

    async def _read(self, chunks: str) -> bytes:
        """nats-py's own `get` makes a consumer: whoever may do that may have messages stored under any subject."""
        body, after = io.BytesIO(), 0
        while True:
            try:
                message = await self._jetstream.get_msg(ARTEFACTS, seq=after + 1, subject=chunks, next=True)
            except nats.js.errors.NotFoundError:
                return body.getvalue()
            body.write(message.data or b"")
            after = message.seq or 0

    async def _write(self, name: str, data: bytes) -> None:
        """nats-py's own `put` chooses where the chunks lie, and nobody finds them when it is ended half way."""
        writing = f"{_session(name)}.{_token(name)}.{self._client._nuid.next().decode()}"
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
async def _bounded(failing: str) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(PATIENCE):
            yield
    except AMBIGUOUS as error:
        raise BusDown(f"{failing}: {error!r}") from error


def _chunks(data: bytes) -> Iterator[bytes]:
    return (data[start : start + CHUNK] for start in range(0, max(len(data), 1), CHUNK))


def _digest(data: bytes) -> str:
    return f"SHA-256={base64.urlsafe_b64encode(sha256(data).digest()).decode()}"


def _session(name: str) -> str:
    """The first part of a name, as one token of a subject."""
    return _token(name.partition("/")[0])


def _token(name: str) -> str:
    """A name as one token of a subject: what object stores everywhere make of it."""
    return base64.urlsafe_b64encode(name.encode()).decode()


def _name(token: str) -> str:
    try:
        return base64.urlsafe_b64decode(token).decode()
    except ValueError:
        return ""  # not one of ours
