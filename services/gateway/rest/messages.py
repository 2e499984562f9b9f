"""REST: any message of the WebSocket to a session, and what becomes of it is the same."""

from typing import Annotated

from fastapi import APIRouter, Body

from parley.protocol import client as m
from services.gateway import handlers
from services.gateway.rest.bodies import JsonRoute
from services.gateway.rest.models import Accepted
from services.gateway.rest.parameters import SessionId
from services.gateway.rest.refusals import REFUSALS
from services.gateway.rest.sessions import readable
from services.gateway.state import Behind, Here, Me
from services.gateway.trouble import Trouble

router = APIRouter(prefix="/api", responses=REFUSALS, route_class=JsonRoute)


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
            sender = handlers.Sender(user)
            done = await handlers.act(message, session_id, sender, core, here.hub.followed(session_id))
    here.hub.nudge(session_id)
    return Accepted(session_id=session_id, version=done.version)
