"""REST: what there is to read."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Query, Response

from parley.events import SessionEvent
from parley.events.values import SESSION_ID, Line
from parley.protocol.pages import SessionRows
from parley.protocol.server import Snapshot
from services.gateway.access.users import User, may_read, missing
from services.gateway.ports import Core, load, query
from services.gateway.rest.lists import IfNoneMatch, rows
from services.gateway.rest.models import AboutMe, Problem, SessionQuery
from services.gateway.state import Behind, Here, Me
from services.gateway.trouble import Trouble
from services.gateway.views import export as exports
from services.gateway.views import messages
from shared import store_api as api
from shared.domain.session import ASKING, Session

REFUSALS: dict[int | str, dict[str, object]] = {
    status: {"model": Problem, "description": description}
    for status, description in {
        401: "Not logged in",
        403: "Not yours, or from a foreign page",
        404: "There is no such thing",
        409: "The session does not allow it now",
        413: "Too large",
        422: "It could never be right",
        429: "Too many requests of yours, or failed logins from your address",
        501: "Not available yet",
        503: "The bus or the store is away",
    }.items()
}
router = APIRouter(prefix="/api", responses=REFUSALS)

SessionId = Annotated[str, Path(pattern=SESSION_ID)]
Version = Annotated[int, Path(ge=1, le=2**48)]
Limit = Annotated[int, Query(ge=1, le=1000)]
Offset = Annotated[int, Query(ge=0, le=1_000_000_000)]
WAITING = (*sorted(ASKING), "failed")  # phases of a session that waits for a person
WHOLE, PAGES = 1000, 8  # events of a journal page when all are wanted, and pages; a page has a megabyte at the most


async def readable(core: Core, session_id: str, user: User) -> Session:
    """The session, if there is one and this user may see it. Raises Trouble."""
    session = (await load(core, session_id)).session
    if session.version == 0:
        raise missing(session_id)
    may_read(user, session)
    return session


@router.get("/me")
async def me(user: Me, here: Here) -> AboutMe:
    """Who I am here, and what this Parley can do."""
    return AboutMe(
        user=user.id,
        everything=user.everything,
        auth=here.settings.parley_auth,
        model=here.greeting.model,
        rehearsal=here.greeting.rehearsal,
        can_run_code=here.greeting.can_run_code,
        workflows=here.greeting.workflows,
    )


@router.get("/sessions", response_model=SessionRows)
async def sessions(
    user: Me, core: Behind, wanted: Annotated[SessionQuery, Query()], seen: IfNoneMatch = ""
) -> Response:
    """My sessions and those shared with me, newest first; `q` searches what was said, planned and answered."""
    request = api.ListSessions(
        user=user.scope, query=wanted.q, states=wanted.state, limit=wanted.limit, offset=wanted.offset
    )
    return rows(await query(core.store, api.SESSION_LIST, request), seen)


@router.get("/inbox", response_model=SessionRows)
async def inbox(user: Me, core: Behind, limit: Limit = 50, offset: Offset = 0, seen: IfNoneMatch = "") -> Response:
    """Those of my sessions in which a person is asked for something: an approval, an answer, help."""
    waiting = api.ListSessions(user=user.scope, phases=WAITING, limit=limit, offset=offset)
    return rows(await query(core.store, api.SESSION_LIST, waiting), seen)


@router.get("/memories")
async def memories(
    user: Me,
    core: Behind,
    q: Annotated[str, Query(max_length=500)] = "",
    limit: Limit = 50,
    offset: Offset = 0,
) -> api.MemoryPage:
    """What the planner may be told of my earlier requests, newest first; with `q` what has all its words."""
    wanted = api.ListMemories(user=user.id, query=q, limit=limit, offset=offset)
    return await query(core.store, api.MEMORY_LIST, wanted)


@router.get("/sessions/{session_id}")
async def session_snapshot(session_id: SessionId, user: Me, core: Behind, here: Here) -> Snapshot:
    """Where the session stands, with the draft that is being written."""
    session = await readable(core, session_id, user)
    return messages.snapshot(session, await here.hub.draft(session_id) if session.work else None)


@router.get("/sessions/{session_id}/journal")
async def journal(
    session_id: SessionId,
    user: Me,
    core: Behind,
    after: Annotated[int, Query(ge=0, le=2**48)] = 0,
    limit: Limit = 200,
) -> api.JournalPage:
    """The session's events after a version, in order."""
    await readable(core, session_id, user)
    return await query(core.store, api.JOURNAL_READ, api.ReadJournal(session_id=session_id, after=after, limit=limit))


@router.get("/sessions/{session_id}/plans")
async def plan_versions(session_id: SessionId, user: Me, core: Behind) -> api.PlanHistory:
    """Every version of the session's plan, oldest first."""
    await readable(core, session_id, user)
    return await query(core.store, api.PLAN_VERSIONS, api.PlanVersions(session_id=session_id))


@router.get("/sessions/{session_id}/plans/diff")
async def plan_diff(
    session_id: SessionId,
    user: Me,
    core: Behind,
    old: Annotated[int, Query(alias="from", ge=1, le=2**48)],
    new: Annotated[int, Query(alias="to", ge=1, le=2**48)],
) -> api.PlanDiff:
    """What changed between two versions of the plan, step by step and as a unified diff."""
    await readable(core, session_id, user)
    return await query(core.store, api.PLAN_DIFF, api.DiffPlans(session_id=session_id, old=old, new=new))


@router.get("/sessions/{session_id}/plans/{version}")
async def plan(session_id: SessionId, version: Version, user: Me, core: Behind) -> api.PlanRecord:
    """One version of the plan."""
    await readable(core, session_id, user)
    return await query(core.store, api.PLAN_GET, api.GetPlan(session_id=session_id, version=version))


@router.get("/sessions/{session_id}/codes")
async def code_versions(session_id: SessionId, user: Me, core: Behind) -> api.CodeHistory:
    """Every version of the session's code, oldest first."""
    await readable(core, session_id, user)
    return await query(core.store, api.CODE_VERSIONS, api.CodeVersions(session_id=session_id))


@router.get("/sessions/{session_id}/export", response_class=Response)
async def export(
    session_id: SessionId,
    user: Me,
    core: Behind,
    form: Annotated[Literal["md", "json", "py"], Query(alias="format")] = "md",
) -> Response:
    """The session as a file: Markdown, JSON, or its program."""
    session = await readable(core, session_id, user)
    events = [] if form == "py" else await _whole_journal(core, session)
    file = exports.export(session, events, form)
    disposition = f'attachment; filename="{file.name}"'
    return Response(file.body, media_type=file.media_type, headers={"Content-Disposition": disposition})


async def _whole_journal(core: Core, session: Session) -> list[SessionEvent]:
    """Raises Trouble(too_large): a journal may be larger than this process."""
    events: list[SessionEvent] = []
    for _ in range(PAGES):
        after = events[-1].version if events else 0
        request = api.ReadJournal(session_id=session.id, after=after, limit=WHOLE)
        page = await query(core.store, api.JOURNAL_READ, request)
        events += page.events
        if not page.events or events[-1].version >= session.version:
            return [event for event in events if event.version <= session.version]
    hint = f"Read it page by page at /api/sessions/{session.id}/journal, or use `parley sessions export` on the server."
    raise Trouble("too_large", "This session is too large for one file.", hint)


@router.get("/plans")
async def plans(
    user: Me,
    core: Behind,
    status: Annotated[list[Line] | None, Query(max_length=20)] = None,
    limit: Limit = 50,
    offset: Offset = 0,
) -> api.PlanPage:
    """The newest plan of each of my sessions, newest first."""
    wanted = api.ListPlans(user=user.scope, statuses=tuple(status or ()), limit=limit, offset=offset)
    return await query(core.store, api.PLAN_LIST, wanted)


@router.get("/usage")
async def usage(
    user: Me, core: Behind, session_id: Annotated[str | None, Query(pattern=SESSION_ID)] = None
) -> api.UsageReport:
    """Tokens and cost by model and role: of my sessions, or of one of them."""
    if session_id is not None:
        await readable(core, session_id, user)
        return await query(core.store, api.USAGE_TOTALS, api.UsageTotals(session_id=session_id))
    return await query(core.store, api.USAGE_TOTALS, api.UsageTotals(user=user.scope))


@router.get("/dead")
async def dead(user: Me, core: Behind, limit: Limit = 100, offset: Offset = 0) -> api.DeadPage:
    """Messages that were put aside: no event of their session, or given up by a consumer. For the operator."""
    if not user.everything:
        raise Trouble("forbidden", "Only the operator sees what was put aside.", "Use `parley dead` on the server.")
    return await query(core.store, api.DEAD_LIST, api.ListDead(limit=limit, offset=offset))
