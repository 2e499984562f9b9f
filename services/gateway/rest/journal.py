"""REST: a session's events, page by page, and the whole of it as a file."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from parley.events import SessionEvent
from services.gateway.ports import Core, query
from services.gateway.rest.parameters import Limit, SessionId
from services.gateway.rest.refusals import REFUSALS
from services.gateway.rest.sessions import readable
from services.gateway.state import Behind, Me
from services.gateway.trouble import Trouble
from services.gateway.views import export as exports
from shared import store_api as api
from shared.domain.session import Session

router = APIRouter(prefix="/api", responses=REFUSALS)

WHOLE, PAGES = 1000, 8  # events of a journal page when all are wanted, and pages; a page has a megabyte at the most


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


@router.get("/sessions/{session_id}/export", response_class=Response)
async def export(
    session_id: SessionId,
    user: Me,
    core: Behind,
    form: Annotated[Literal["md", "json", "py"], Query(alias="format")] = "md",
) -> Response:
    """The session as a file, in every workflow: Markdown to read, JSON to process, or its program.

    Both tell each plan with its steps, each call with arguments, status and result, and who decided what, and when.
    JSON has them as `calls`, `decisions` and `execution_plan`, and with them the snapshot (`session`) and all events
    (`journal`).
    """
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
