"""REST: the tools there are, and what a call of one would change."""

from typing import Annotated

from fastapi import APIRouter, Query

from parley.protocol.tools import ListTools, Preview, PreviewCall, ToolPage
from services.gateway import tools
from services.gateway.access.users import may_write
from services.gateway.rest.bodies import JsonRoute
from services.gateway.rest.models import Call
from services.gateway.rest.parameters import ActionId, SessionId
from services.gateway.rest.refusals import REFUSALS
from services.gateway.rest.sessions import readable
from services.gateway.state import Behind, Me
from services.gateway.trouble import Trouble
from shared.domain.paths import OPEN
from shared.domain.waves import find

router = APIRouter(prefix="/api", responses=REFUSALS, route_class=JsonRoute)


@router.get("/tools")
async def tool_list(
    user: Me,
    core: Behind,
    q: Annotated[str, Query(max_length=500)] = "",
    limit: Annotated[int, Query(ge=1, le=500)] = 500,
) -> ToolPage:
    """The tools there are, by name; with `q` those that fit its words best come first."""
    return await tools.tool_page(core.bus, ListTools(query=q, limit=limit))


@router.get("/sessions/{session_id}/actions/{action_id}/preview")
async def action_preview(session_id: SessionId, action_id: ActionId, user: Me, core: Behind) -> Preview:
    """What an action that has not begun would change if it ran now."""
    session = await readable(core, session_id, user)
    action = find(session, action_id)
    if action is None:
        raise Trouble("not_found", f"There is no action {action_id} in the turn at hand.")
    if action.status not in OPEN:
        raise Trouble("not_now", f"Action {action_id} is {action.status}: the journal tells what came of it.")
    call = PreviewCall(session_id=session_id, tool=action.spec.tool, arguments=action.spec.arguments)
    return await tools.preview(core.bus, call)


@router.post("/sessions/{session_id}/preview")
async def call_preview(session_id: SessionId, call: Call, user: Me, core: Behind) -> Preview:
    """What this call would change if it were made now in the session's world. For who may act in the session."""
    may_write(user, await readable(core, session_id, user))
    asked = PreviewCall(session_id=session_id, tool=call.tool, arguments=call.arguments)
    return await tools.preview(core.bus, asked)
