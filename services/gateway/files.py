"""The content of a session's files: read, and copied for a fork."""

from hashlib import sha256

from parley.events.values import FileRef
from services.gateway.api_errors import ApiError
from services.gateway.ports import Core
from shared.domain.files import object_name
from shared.domain.session import Session


async def file_bytes(session: Session, name: str, core: Core) -> bytes:
    """The file's content. Raises ApiError(not_found), BusUnavailable."""
    ref = session.files.get(name)
    data = await _fetch_verified(session.id, ref, core) if ref else None
    if data is None:
        raise ApiError("not_found", f"The session has no file {name[:200]}.")
    return data


async def copy_files(parent: Session, fork_id: str, core: Core) -> None:
    """Copy the parent's files to the fork, so that they survive a purge of the parent.

    Copying again is cheap. Raises ApiError, BusUnavailable.
    """
    refs = {ref.sha256: ref for ref in parent.files.values()}
    with core.storing(sum(ref.size for ref in refs.values())):
        for ref in refs.values():
            data = await _fetch_verified(parent.id, ref, core)
            if data is None:
                raise ApiError("not_found", "The session's files are no longer there: it cannot be forked with them.")
            await core.bus.keep(object_name(fork_id, ref), data)


async def _fetch_verified(session_id: str, ref: FileRef, core: Core) -> bytes | None:
    """The stored bytes; None if they are missing or their hash differs from the log's."""
    data = await core.bus.fetch(object_name(session_id, ref))
    return data if data is not None and sha256(data).hexdigest() == ref.sha256 else None
