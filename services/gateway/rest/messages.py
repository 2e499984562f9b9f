"""REST: any client message of the WebSocket protocol."""

from typing import Annotated

from fastapi import APIRouter, Body

from parley.protocol import client as m
from services.gateway import handlers
from services.gateway.api_errors import ApiError
from services.gateway.rest.bodies import JsonRoute
from services.gateway.rest.error_responses import ERROR_RESPONSES
from services.gateway.rest.models import Accepted
from services.gateway.rest.parameters import SessionId
from services.gateway.rest.sessions import readable_session
from services.gateway.state import CoreDep, GatewayDep, UserDep

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES, route_class=JsonRoute)


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
