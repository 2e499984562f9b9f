"""REST: sessions: list, inbox, begin, read and purge; their messages, journal, export, plans and code."""

import hashlib
from typing import Annotated, Literal

from fastapi import APIRouter, Body, Header, Query, Response

from parley.events import SessionEvent
from parley.events.values import Line
from parley.protocol import client as m
from parley.protocol.pages import SessionPage, SessionRow, SessionRows
from parley.protocol.server import Snapshot
from services.gateway.access.users import User, check_can_read, check_can_write, session_not_found
from services.gateway.api_errors import ApiError
from services.gateway.messages import handlers
from services.gateway.ports import Core, load, query, request_draft
from services.gateway.rest.models import Accepted, From, Limit, NewSession, Offset, SessionId, SessionQuery, To, Version
from services.gateway.rest.requests import ERROR_RESPONSES, JsonRoute
from services.gateway.state import CoreDep, GatewayDep, QuotaDep, UserDep
from services.gateway.views import export as exports
from services.gateway.views import protocol1
from shared import store_api as api
from shared.domain.kernel.session import USER_PHASES, Session

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES, route_class=JsonRoute)

WAITING_PHASES = (*sorted(USER_PHASES), "failed", api.UNFINISHED, api.OFFER)  # of sessions that wait for a person
IfNoneMatch = Annotated[str, Header(alias="If-None-Match", include_in_schema=False, max_length=1_000)]
MAX_REQUEST_CHARS = 200  # of a session's request
CACHE_CONTROL = "private, no-cache"  # browsers may store it, and must revalidate
ROW_FIELDS = set(SessionRow.model_fields)
JOURNAL_PAGE_SIZE, MAX_JOURNAL_PAGES = (
    1000,
    8,
)  # events; a page has at most 1 MB


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
    return protocol1.snapshot(session, draft, role=user.role_in(session))


@router.delete("/sessions/{session_id}")
async def purge(session_id: SessionId, user: UserDep, core: CoreDep) -> api.Purged:
    """Delete the session for good, with its log and its rows. Its forks stay."""
    session = await readable_session(core, session_id, user)
    check_can_write(user, session)
    owner = session.owner if user.is_operator else user.id
    return await query(core.store, api.SESSION_PURGE, api.PurgeSession(session_id=session_id, user=owner))


@router.post("/sessions/{session_id}/messages")
async def send(
    session_id: SessionId,
    message: Annotated[m.AnyClientMessage, Body()],
    user: UserDep,
    core: CoreDep,
    gateway: GatewayDep,
) -> Accepted:
    """Send any client message about this session, as over `/ws`. An approval must name its version here."""
    message = message.model_copy(update={"session_id": session_id})
    match message:
        case m.Fork():
            fork_id = await handlers.fork_session(message, session_id, user=user, core=core)
            session = await readable_session(core, session_id, user)
            return Accepted(session_id=session_id, version=session.version, fork_id=fork_id)
        case m.Resume() | m.Close():
            hint = "Read the snapshot or the journal instead."
            raise ApiError("not_available", f"`{message.type}` is for sockets.", hint)
        case _:
            sender = handlers.Sender(user)
            result = await handlers.act(message, session_id, sender, core, gateway.hub.loaded_channel(session_id))
    gateway.hub.wake(session_id)
    return Accepted(session_id=session_id, version=result.version)


@router.get("/sessions/{session_id}/journal")
async def journal(
    session_id: SessionId,
    user: UserDep,
    core: CoreDep,
    after: Annotated[int, Query(ge=0, le=2**48)] = 0,
    limit: Limit = 200,
) -> api.JournalPage:
    """The session's events after version `after`, in order."""
    await readable_session(core, session_id, user)
    return await query(core.store, api.JOURNAL_READ, api.ReadJournal(session_id=session_id, after=after, limit=limit))


@router.get("/sessions/{session_id}/export", response_class=Response)
async def export(
    session_id: SessionId,
    user: UserDep,
    core: CoreDep,
    form: Annotated[Literal["md", "json", "py"], Query(alias="format")] = "md",
) -> Response:
    """The session as a file: Markdown to read, JSON to process, or its program.

    Markdown and JSON contain each plan with its steps, each call with arguments, status and result, and each decision.
    JSON has them as `calls`, `decisions` and `execution_plan`, beside the snapshot (`session`) and all events
    (`journal`).
    """
    session = await readable_session(core, session_id, user)
    events = [] if form == "py" else await whole_journal(core, session)
    file = exports.export(session, events, form)
    disposition = f'attachment; filename="{file.name}"'
    return Response(file.body, media_type=file.media_type, headers={"Content-Disposition": disposition})


async def whole_journal(core: Core, session: Session) -> list[SessionEvent]:
    """All events. Raises ApiError(too_large) for a journal that could exhaust the memory."""
    events: list[SessionEvent] = []
    for _ in range(MAX_JOURNAL_PAGES):
        after = events[-1].version if events else 0
        request = api.ReadJournal(session_id=session.id, after=after, limit=JOURNAL_PAGE_SIZE)
        page = await query(core.store, api.JOURNAL_READ, request)
        events += page.events
        if not page.events or events[-1].version >= session.version:
            return [event for event in events if event.version <= session.version]
    pages = f"/api/sessions/{session.id}/journal"
    hint = f"Read it page by page at {pages}, or use `parley sessions show {session.id} --json` on the server."
    raise ApiError("too_large", "This session is too large for one file.", hint)


@router.get("/plans")
async def plans(
    user: UserDep,
    core: CoreDep,
    status: Annotated[list[Line] | None, Query(max_length=20)] = None,
    limit: Limit = 50,
    offset: Offset = 0,
) -> api.PlanPage:
    """The newest plan of each of my sessions, newest first."""
    request = api.ListPlans(user=user.scope, statuses=tuple(status or ()), limit=limit, offset=offset)
    return await query(core.store, api.PLAN_LIST, request)


@router.get("/sessions/{session_id}/plans")
async def plan_versions(session_id: SessionId, user: UserDep, core: CoreDep) -> api.PlanHistory:
    """Every version of the session's plan, oldest first."""
    await readable_session(core, session_id, user)
    return await query(core.store, api.PLAN_VERSIONS, api.PlanVersions(session_id=session_id))


@router.get("/sessions/{session_id}/plans/diff")
async def plan_diff(session_id: SessionId, user: UserDep, core: CoreDep, old: From, new: To) -> api.PlanDiff:
    """What changed between two versions of the plan, by step and as a unified diff."""
    await readable_session(core, session_id, user)
    return await query(core.store, api.PLAN_DIFF, api.DiffPlans(session_id=session_id, old=old, new=new))


@router.get("/sessions/{session_id}/plans/{version}")
async def plan(session_id: SessionId, version: Version, user: UserDep, core: CoreDep) -> api.PlanRecord:
    """One version of the plan."""
    await readable_session(core, session_id, user)
    return await query(core.store, api.PLAN_GET, api.GetPlan(session_id=session_id, version=version))


@router.get("/sessions/{session_id}/codes")
async def code_versions(session_id: SessionId, user: UserDep, core: CoreDep) -> api.CodeHistory:
    """Every version of the session's code, oldest first."""
    await readable_session(core, session_id, user)
    return await query(core.store, api.CODE_VERSIONS, api.CodeVersions(session_id=session_id))
