"""REST: sessions: list, inbox, begin, read and purge. Screens poll the lists, so these have ETags."""

import hashlib
from typing import Annotated

from fastapi import APIRouter, Header, Query, Response

from parley.protocol import client as m
from parley.protocol.pages import SessionPage, SessionRow, SessionRows
from parley.protocol.server import Snapshot
from services.gateway import handlers
from services.gateway.access.users import User, check_can_read, check_can_write, session_not_found
from services.gateway.ports import Core, load, query, request_draft
from services.gateway.rest.bodies import JsonRoute
from services.gateway.rest.error_responses import ERROR_RESPONSES
from services.gateway.rest.models import Accepted, NewSession, SessionQuery
from services.gateway.rest.parameters import Limit, Offset, SessionId
from services.gateway.state import CoreDep, GatewayDep, QuotaDep, UserDep
from services.gateway.views import messages
from shared import store_api as api
from shared.domain.session import USER_PHASES, Session

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES, route_class=JsonRoute)

WAITING_PHASES = (*sorted(USER_PHASES), "failed", api.UNFINISHED, api.OFFER)  # of sessions that wait for a person
IfNoneMatch = Annotated[str, Header(alias="If-None-Match", include_in_schema=False, max_length=1_000)]
MAX_REQUEST_CHARS = 200  # of a session's request
CACHE_CONTROL = "private, no-cache"  # browsers may store it, and must revalidate
ROW_FIELDS = set(SessionRow.model_fields)


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


async def readable_session(core: Core, session_id: str, user: User) -> Session:
    """The session, if it exists and this user may read it. Raises ApiError."""
    session = (await load(core, session_id)).session
    if session.version == 0:
        raise session_not_found(session_id)
    check_can_read(user, session)
    return session


@router.get("/sessions", response_model=SessionRows)
async def sessions(
    user: UserDep, core: CoreDep, filters: Annotated[SessionQuery, Query()], if_none_match: IfNoneMatch = ""
) -> Response:
    """My sessions, newest first; `q` searches messages, plans and answers."""
    request = api.ListSessions(
        user=user.scope, query=filters.q, states=filters.state, limit=filters.limit, offset=filters.offset
    )
    return session_rows_response(await query(core.store, api.SESSION_LIST, request), if_none_match)


@router.get("/inbox", response_model=SessionRows)
async def inbox(
    user: UserDep, core: CoreDep, limit: Limit = 50, offset: Offset = 0, if_none_match: IfNoneMatch = ""
) -> Response:
    """My sessions that wait for a person: for an approval, an answer, help, a decision about an offer, or to continue
    a plan.
    """
    request = api.ListSessions(user=user.scope, phases=WAITING_PHASES, limit=limit, offset=offset)
    return session_rows_response(await query(core.store, api.SESSION_LIST, request), if_none_match)


@router.post("/sessions", status_code=201)
async def begin(body: NewSession, user: UserDep, core: CoreDep, gateway: GatewayDep, quota: QuotaDep) -> Accepted:
    """Begin a session with its first request."""
    session_id = handlers.session_id_for(user, body.id, core)
    quota.check_may_work(session_id)  # refused before the session is loaded
    message = m.UserMessage(
        type="user_message",
        id=body.id,
        content=body.request,
        workflow=body.workflow,
        settings=body.settings,
        knowledge=body.knowledge,
        time_zone=body.time_zone,
    )
    async with gateway.hub.following(session_id, new=body.id is None) as channel:
        result = await handlers.act(message, session_id, handlers.Sender(user), core, channel)
    return Accepted(session_id=session_id, version=result.version)


@router.get("/sessions/{session_id}")
async def session_snapshot(session_id: SessionId, user: UserDep, core: CoreDep) -> Snapshot:
    """The session's snapshot, with the draft that is being written."""
    session = await readable_session(core, session_id, user)
    draft = await request_draft(core, session_id) if session.works else None
    return messages.snapshot(session, draft, role=user.role_in(session))


@router.delete("/sessions/{session_id}")
async def purge(session_id: SessionId, user: UserDep, core: CoreDep) -> api.Purged:
    """Delete the session for good, with its log and its rows. Its forks stay."""
    session = await readable_session(core, session_id, user)
    check_can_write(user, session)
    owner = session.owner if user.is_operator else user.id
    return await query(core.store, api.SESSION_PURGE, api.PurgeSession(session_id=session_id, user=owner))
