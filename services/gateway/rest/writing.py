"""REST: what changes something. The messages are those of the WebSocket, and so is what becomes of them."""

from typing import Annotated

from fastapi import APIRouter, Body

from parley.protocol import client as m
from services.gateway import handlers
from services.gateway.access.users import may_write
from services.gateway.ports import query
from services.gateway.rest.bodies import JsonRoute
from services.gateway.rest.models import Accepted, NewSession
from services.gateway.rest.reading import REFUSALS, SessionId, readable
from services.gateway.state import Behind, Here, Me, Mine
from services.gateway.trouble import Trouble
from shared.store_api import SESSION_PURGE, Purged, PurgeSession

router = APIRouter(prefix="/api", responses=REFUSALS, route_class=JsonRoute)


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


@router.post("/sessions/{session_id}/messages")
async def send(
    session_id: SessionId, message: Annotated[m.AnyClientMessage, Body()], user: Me, core: Behind, here: Here
) -> Accepted:
    """Any client message about this session, as over `/ws`; an approval names its version here."""
    message = message.model_copy(update={"session_id": session_id})
    match message:
        case m.Fork():
            fork_id = await handlers.begin_fork(message, session_id, user=user, core=core)
            session = await readable(core, session_id, user)
            return Accepted(session_id=session_id, version=session.version, fork_id=fork_id)
        case m.Resume() | m.Close():
            hint = "Read the snapshot or the journal instead."
            raise Trouble("not_available", f"`{message.type}` is for sockets.", hint)
        case _:
            done = await handlers.act(message, session_id, handlers.Sender(user), core)
    here.hub.nudge(session_id)
    return Accepted(session_id=session_id, version=done.version)


@router.delete("/sessions/{session_id}")
async def purge(session_id: SessionId, user: Me, core: Behind) -> Purged:
    """Remove the session for good: its log and its rows. What was forked from it lives on."""
    session = await readable(core, session_id, user)
    may_write(user, session)
    owner = session.owner if user.everything else user.id
    return await query(core.store, SESSION_PURGE, PurgeSession(session_id=session_id, user=owner))
