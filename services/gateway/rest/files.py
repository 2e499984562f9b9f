"""REST: a session's files, and action results that are too large for the journal.

Files are downloaded: browsers must not display them, as a file may be HTML with a script.
"""

import re
import unicodedata
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel

from services.gateway.api_errors import ApiError
from services.gateway.ports import file_bytes
from services.gateway.rest.models import ActionId, SessionId
from services.gateway.rest.requests import ERROR_RESPONSES
from services.gateway.rest.sessions import readable_session
from services.gateway.state import CoreDep, UserDep
from shared.domain.turn.batches import find_action

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES)

FileName = Annotated[str, Path(min_length=1, max_length=1_000)]
Turn = Annotated[int, Path(ge=1, le=2**31)]
MAX_ATTEMPTS = 5  # tried for an action of an earlier turn


class SessionFile(BaseModel):
    """A file: its size in bytes and SHA-256 in hex."""

    name: str
    size: int
    sha256: str


class SessionFiles(BaseModel):
    """The files by name. `bytes`: their total size."""

    files: list[SessionFile]
    bytes: int


@router.get("/sessions/{session_id}/files")
async def files(session_id: SessionId, user: UserDep, core: CoreDep) -> SessionFiles:
    """The session's files."""
    refs = sorted((await readable_session(core, session_id, user)).files.items())
    entries = [SessionFile(name=name, size=ref.size, sha256=ref.sha256) for name, ref in refs]
    return SessionFiles(files=entries, bytes=sum(file.size for file in entries))


@router.get("/sessions/{session_id}/files/{name:path}", response_class=Response)
async def file(session_id: SessionId, name: FileName, user: UserDep, core: CoreDep) -> Response:
    """The content of a file, as a download."""
    name = unicodedata.normalize("NFC", name)
    data = await file_bytes(await readable_session(core, session_id, user), name, core)
    return Response(
        data,
        media_type="application/octet-stream",
        headers={"Content-Disposition": _attachment_header(name), "X-Content-Type-Options": "nosniff"},
    )


@router.get("/sessions/{session_id}/artefacts/{turn}/{action_id}", response_class=Response)
async def artefact(session_id: SessionId, turn: Turn, action_id: ActionId, user: UserDep, core: CoreDep) -> Response:
    """The whole result of an action of which the journal has only the beginning."""
    action = find_action(await readable_session(core, session_id, user), action_id)
    attempts = (action.attempt,) if action else range(1, MAX_ATTEMPTS + 1)  # only one of them returned a result
    for attempt in attempts:
        if (body := await core.bus.fetch(f"{session_id}/{turn}/{action_id}/{attempt}")) is not None:
            break
    else:
        raise ApiError("not_found", f"Action {action_id} of turn {turn} has no result that is kept apart.")
    name = re.sub(r"[^A-Za-z0-9._-]", "-", f"{session_id[:8]}-{turn}-{action_id}.txt")
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(body, media_type="text/plain; charset=utf-8", headers=headers)


def _attachment_header(name: str) -> str:
    """A Content-Disposition header (RFC 6266) with the last part of the name, also in ASCII for old clients."""
    last = name.rpartition("/")[2]
    plain = re.sub(r"[^A-Za-z0-9._-]", "-", last)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(last, safe='')}"
