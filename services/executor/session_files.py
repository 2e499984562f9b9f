"""The session's files as one call reads and changes them. The bytes are in the object store."""

from collections.abc import Mapping
from hashlib import sha256
from typing import Protocol

from parley import Failed, Refused
from parley.events.values import Artefact, FileRef
from parley.file_names import clash, file_name
from shared.bus import BusUnavailable
from shared.domain.kernel.session import Session
from shared.domain.turn.files import object_name
from shared.retry import retry_while_unavailable

MAX_FILE, MAX_TOTAL = 5_000_000, 50_000_000  # bytes
MAX_FILES = 500
MAX_CHANGES = 50  # per call: its outcome, which names them all, must fit into an event
OBJECT_STORE_TIMEOUT = 20.0  # seconds for an object store that is away; less than a tool's deadline


class ObjectStore(Protocol):
    """Stores and reads objects."""

    async def keep(self, name: str, data: bytes) -> Artefact: ...
    async def fetch(self, name: str) -> bytes | None: ...


class CallFiles:
    """Implements parley.Files for one call. `changes` are the changes of this call so far."""

    def __init__(self, session: Session, objects: ObjectStore) -> None:
        self.changes: dict[str, FileRef | None] = {}
        self._session = session
        self._objects = objects

    def all(self) -> Mapping[str, FileRef]:
        refs = self._session.files | self.changes
        return {name: ref for name, ref in sorted(refs.items()) if ref is not None}

    async def read(self, name: str) -> bytes:
        name, ref = self._existing(name)
        try:
            data = await _fetch(self._objects, object_name(self._session.id, ref))
        except BusUnavailable as error:
            raise Failed(f"{name} cannot be read now: {error} Try it again in a while.") from error
        if data is None or sha256(data).hexdigest() != ref.sha256:
            raise Failed(f"What {name} held is no longer there. Write it anew, or delete it.")
        return data

    async def write(self, name: str, data: bytes) -> FileRef:
        name = _valid_name(name)
        self._check_changes(name)
        self._check_room(name, len(data))
        ref = FileRef(sha256=sha256(data).hexdigest(), size=len(data))
        try:
            await _store(self._objects, object_name(self._session.id, ref), data)
        except BusUnavailable as error:
            raise Failed(f"{name} cannot be written now: {error} Nothing changed: try it again in a while.") from error
        self.changes[name] = ref
        return ref

    def delete(self, name: str) -> None:
        name, _ = self._existing(name)
        self._check_changes(name)
        self.changes[name] = None

    def _existing(self, name: str) -> tuple[str, FileRef]:
        name = _valid_name(name)
        if (ref := self.all().get(name)) is None:
            raise Refused(f"there is no file {name}; list_files lists the files")
        return name, ref

    def _check_changes(self, name: str) -> None:
        """Raises Refused."""
        if len(self.changes.keys() | {name}) > MAX_CHANGES:
            raise Refused(f"one call changes at most {MAX_CHANGES} files: divide it into several")

    def _check_room(self, name: str, size: int) -> None:
        """Raises Refused."""
        others = {other: ref for other, ref in self.all().items() if other != name}
        if why := clash(name, others):
            raise Refused(why)
        if size > MAX_FILE:
            raise Refused(f"{name} would have {size} bytes, and a file may have {MAX_FILE}: divide it into several")
        if len(others) >= MAX_FILES:
            raise Refused(f"the session has {MAX_FILES} files, and may have no more: delete some")
        if (used := sum(ref.size for ref in others.values())) + size > MAX_TOTAL:
            raise Refused(f"with {name} the session's files would have {used + size} bytes, and may have {MAX_TOTAL}")


def _valid_name(name: str) -> str:
    try:
        return file_name(name)
    except ValueError as error:
        raise Refused(str(error)) from None


@retry_while_unavailable(BusUnavailable, timeout=OBJECT_STORE_TIMEOUT)
async def _store(objects: ObjectStore, name: str, data: bytes) -> None:
    await objects.keep(name, data)


@retry_while_unavailable(BusUnavailable, timeout=OBJECT_STORE_TIMEOUT)
async def _fetch(objects: ObjectStore, name: str) -> bytes | None:
    return await objects.fetch(name)
