"""REST: a session's events in pages, and the session as a file."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from parley.events import SessionEvent
from services.gateway.api_errors import ApiError
from services.gateway.ports import Core, query
from services.gateway.rest.error_responses import ERROR_RESPONSES
from services.gateway.rest.parameters import Limit, SessionId
from services.gateway.rest.sessions import readable_session
from services.gateway.state import CoreDep, UserDep
from services.gateway.views import export as exports
from shared import store_api as api
from shared.domain.session import Session

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES)

JOURNAL_PAGE_SIZE, MAX_JOURNAL_PAGES = (
    1000,
    8,
)  # events; a page has at most 1 MB


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
    events = [] if form == "py" else await _whole_journal(core, session)
    file = exports.export(session, events, form)
    disposition = f'attachment; filename="{file.name}"'
    return Response(file.body, media_type=file.media_type, headers={"Content-Disposition": disposition})


async def _whole_journal(core: Core, session: Session) -> list[SessionEvent]:
    """All events. Raises ApiError(too_large) for a journal that could exhaust the memory."""
    events: list[SessionEvent] = []
    for _ in range(MAX_JOURNAL_PAGES):
        after = events[-1].version if events else 0
        request = api.ReadJournal(session_id=session.id, after=after, limit=JOURNAL_PAGE_SIZE)
        page = await query(core.store, api.JOURNAL_READ, request)
        events += page.events
        if not page.events or events[-1].version >= session.version:
            return [event for event in events if event.version <= session.version]
    hint = f"Read it page by page at /api/sessions/{session.id}/journal, or use `parley sessions export` on the server."
    raise ApiError("too_large", "This session is too large for one file.", hint)
