"""REST: a session's own files, listed and downloaded. They are never shown: a file may be a page with a script."""

import re
import unicodedata
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel

from services.gateway.files import file_bytes
from services.gateway.rest.parameters import SessionId
from services.gateway.rest.refusals import REFUSALS
from services.gateway.rest.sessions import readable
from services.gateway.state import Behind, Me

router = APIRouter(prefix="/api", responses=REFUSALS)

FileName = Annotated[str, Path(min_length=1, max_length=1_000)]


class SessionFile(BaseModel):
    """A file: its size in bytes and SHA-256 in hex."""

    name: str
    size: int
    sha256: str


class SessionFiles(BaseModel):
    """In order of name. `bytes`: of all of them."""

    files: list[SessionFile]
    bytes: int


@router.get("/sessions/{session_id}/files")
async def files(session_id: SessionId, user: Me, core: Behind) -> SessionFiles:
    """The session's files."""
    refs = sorted((await readable(core, session_id, user)).files.items())
    listed = [SessionFile(name=name, size=ref.size, sha256=ref.sha256) for name, ref in refs]
    return SessionFiles(files=listed, bytes=sum(one.size for one in listed))


@router.get("/sessions/{session_id}/files/{name:path}", response_class=Response)
async def file(session_id: SessionId, name: FileName, user: Me, core: Behind) -> Response:
    """What a file holds, as a download."""
    name = unicodedata.normalize("NFC", name)
    data = await file_bytes(await readable(core, session_id, user), name, core)
    return Response(
        data,
        media_type="application/octet-stream",
        headers={"Content-Disposition": _attachment(name), "X-Content-Type-Options": "nosniff"},
    )


def _attachment(name: str) -> str:
    """The header of RFC 6266: the last part of the name, for old programs in ASCII."""
    last = name.rpartition("/")[2]
    plain = re.sub(r"[^A-Za-z0-9._-]", "-", last)
    return f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(last, safe='')}"
