"""REST: sessions: those there are, those that wait for a person, one of them, its beginning and its removal."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from parley.protocol import client as m
from parley.protocol.pages import SessionRows
from parley.protocol.server import Snapshot
from services.gateway import handlers
from services.gateway.access.users import User, may_read, may_write, missing
from services.gateway.ports import Core, load, query
from services.gateway.rest.bodies import JsonRoute
from services.gateway.rest.lists import IfNoneMatch, rows
from services.gateway.rest.models import Accepted, NewSession, SessionQuery
from services.gateway.rest.parameters import Limit, Offset, SessionId
from services.gateway.rest.refusals import REFUSALS
from services.gateway.state import Behind, Here, Me, Mine
from services.gateway.views import messages
from shared import store_api as api
from shared.domain.session import ASKING, Session

router = APIRouter(prefix="/api", responses=REFUSALS, route_class=JsonRoute)

WAITING = (*sorted(ASKING), "failed", api.UNFINISHED)  # phases of a session that waits for a person


async def readable(core: Core, session_id: str, user: User) -> Session:
    """The session, if there is one and this user may see it. Raises Trouble."""
    session = (await load(core, session_id)).session
    if session.version == 0:
        raise missing(session_id)
    may_read(user, session)
    return session


@router.get("/sessions", response_model=SessionRows)
async def sessions(
    user: Me, core: Behind, wanted: Annotated[SessionQuery, Query()], seen: IfNoneMatch = ""
) -> Response:
    """My sessions, newest first; `q` searches what was said, planned and answered."""
    request = api.ListSessions(
        user=user.scope, query=wanted.q, states=wanted.state, limit=wanted.limit, offset=wanted.offset
    )
    return rows(await query(core.store, api.SESSION_LIST, request), seen)


@router.get("/inbox", response_model=SessionRows)
async def inbox(user: Me, core: Behind, limit: Limit = 50, offset: Offset = 0, seen: IfNoneMatch = "") -> Response:
    """Those of my sessions that wait for a person: for an approval, an answer, help, or to go on with their plan."""
    waiting = api.ListSessions(user=user.scope, phases=WAITING, limit=limit, offset=offset)
    return rows(await query(core.store, api.SESSION_LIST, waiting), seen)


@router.post("/sessions", status_code=201)
async def begin(new: NewSession, user: Me, core: Behind, here: Here, quota: Mine) -> Accepted:
    """Begin a session with its first request."""
    session_id = handlers.session_id_for(user, new.id, core)
    quota.may_work(session_id)  # refused before the session is loaded
    message = m.UserMessage(
        type="user_message",
        id=new.id,
        content=new.request,
        workflow=new.workflow,
        settings=new.settings,
        knowledge=new.knowledge,
    )
    done = await handlers.act(message, session_id, handlers.Sender(user), core)
    here.hub.nudge(session_id)
    return Accepted(session_id=session_id, version=done.version)


@router.get("/sessions/{session_id}")
async def session_snapshot(session_id: SessionId, user: Me, core: Behind, here: Here) -> Snapshot:
    """Where the session stands, with the draft that is being written."""
    session = await readable(core, session_id, user)
    return messages.snapshot(session, await here.hub.draft(session_id) if session.work else None)


@router.delete("/sessions/{session_id}")
async def purge(session_id: SessionId, user: Me, core: Behind) -> api.Purged:
    """Remove the session for good: its log and its rows. What was forked from it lives on."""
    session = await readable(core, session_id, user)
    may_write(user, session)
    owner = session.owner if user.everything else user.id
    return await query(core.store, api.SESSION_PURGE, api.PurgeSession(session_id=session_id, user=owner))
