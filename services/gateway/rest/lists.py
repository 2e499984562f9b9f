"""Lists that screens ask for again and again: short rows, and not a byte of them where nothing has changed."""

import hashlib
from typing import Annotated

from fastapi import Header, Response

from parley.protocol.pages import SessionPage, SessionRow, SessionRows

IfNoneMatch = Annotated[str, Header(alias="If-None-Match", include_in_schema=False, max_length=1_000)]
REQUEST = 200  # characters of a session's request
CACHED = "private, no-cache"  # a browser may keep it, and asks each time whether it still holds


def rows(page: SessionPage, seen: str) -> Response:
    """The page with its ETag; without a body where that is among those that the client has `seen`."""
    short = (SessionRow.model_validate(one.model_dump(include=FIELDS)) for one in page.sessions)
    cut = (row.model_copy(update={"request": row.request[:REQUEST]}) for row in short)
    body = SessionRows(sessions=tuple(cut), total=page.total).model_dump_json().encode()
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": CACHED}
    if tag in (one.strip().removeprefix("W/") for one in seen.split(",")):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type="application/json", headers=headers)


FIELDS = set(SessionRow.model_fields)
