"""Lists of sessions, which screens poll: short rows with an ETag, and 304 where nothing has changed."""

import hashlib
from typing import Annotated

from fastapi import Header, Response

from parley.protocol.pages import SessionPage, SessionRow, SessionRows

IfNoneMatch = Annotated[str, Header(alias="If-None-Match", include_in_schema=False, max_length=1_000)]
MAX_REQUEST_CHARS = 200  # of a session's request
CACHE_CONTROL = "private, no-cache"  # browsers may store it, and must revalidate


def session_rows_response(page: SessionPage, if_none_match: str) -> Response:
    """The rows with their ETag; 304 without a body if `if_none_match` has that ETag."""
    rows = (SessionRow.model_validate(summary.model_dump(include=ROW_FIELDS)) for summary in page.sessions)
    shortened = (row.model_copy(update={"request": row.request[:MAX_REQUEST_CHARS]}) for row in rows)
    body = SessionRows(sessions=tuple(shortened), total=page.total).model_dump_json().encode()
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": CACHE_CONTROL}
    if tag in (summary.strip().removeprefix("W/") for summary in if_none_match.split(",")):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type="application/json", headers=headers)


ROW_FIELDS = set(SessionRow.model_fields)
