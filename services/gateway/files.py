"""The bytes of a session's files: fetched for whoever may read it, and copied for a fork."""

from hashlib import sha256

from parley.events.values import FileRef
from services.gateway.ports import Core
from services.gateway.trouble import Trouble
from shared.domain.files import object_name
from shared.domain.session import Session


async def file_bytes(session: Session, name: str, core: Core) -> bytes:
    """What the file holds. Raises Trouble(not_found), BusDown."""
    ref = session.files.get(name)
    data = await _stored(session.id, ref, core) if ref else None
    if data is None:
        raise Trouble("not_found", f"The session has no file {name[:200]}.")
    return data


async def copy_files(parent: Session, fork_id: str, core: Core) -> None:
    """Store the parent's files under the fork's own name: a purge of the parent takes nothing from it.

    What was copied before is no work. Raises Trouble, BusDown.
    """
    refs = {ref.sha256: ref for ref in parent.files.values()}
    with core.storing(sum(ref.size for ref in refs.values())):
        for ref in refs.values():
            data = await _stored(parent.id, ref, core)
            if data is None:
                raise Trouble("not_found", "The session's files are no longer there: it cannot be forked with them.")
            await core.bus.keep(object_name(fork_id, ref), data)


async def _stored(session_id: str, ref: FileRef, core: Core) -> bytes | None:
    """The bytes that the log names; None where others lie in their place, or none."""
    data = await core.bus.fetch(object_name(session_id, ref))
    return data if data is not None and sha256(data).hexdigest() == ref.sha256 else None
