"""REST: tools, and previews of calls."""

from typing import Annotated

from fastapi import APIRouter, Query

from parley.protocol.tools import ListTools, Preview, PreviewCall, ToolPage
from services.gateway.access.users import check_can_write
from services.gateway.api_errors import ApiError
from services.gateway.messages import tools
from services.gateway.rest.models import ActionId, SessionId, ToolCall
from services.gateway.rest.requests import ERROR_RESPONSES, JsonRoute
from services.gateway.rest.sessions import readable_session
from services.gateway.state import CoreDep, UserDep
from shared.domain.turn.batches import find_action
from shared.domain.turn.flow_paths import OPEN_STATUSES

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES, route_class=JsonRoute)


@router.get("/tools")
async def tool_list(
    user: UserDep,
    core: CoreDep,
    q: Annotated[str, Query(max_length=500)] = "",
    limit: Annotated[int, Query(ge=1, le=500)] = 500,
) -> ToolPage:
    """The tools by name; with `q`, best matches first."""
    return await tools.tool_page(core.bus, ListTools(query=q, limit=limit))


@router.get("/sessions/{session_id}/actions/{action_id}/preview")
async def action_preview(session_id: SessionId, action_id: ActionId, user: UserDep, core: CoreDep) -> Preview:
    """What an action that has not started would change if it ran now."""
    session = await readable_session(core, session_id, user)
    action = find_action(session, action_id)
    if action is None:
        raise ApiError("not_found", f"There is no action {action_id} in the turn at hand.")
    if action.status not in OPEN_STATUSES:
        raise ApiError("not_now", f"Action {action_id} is {action.status}: its outcome is in the journal.")
    call = PreviewCall(session_id=session_id, tool=action.spec.tool, arguments=action.spec.arguments)
    return await tools.preview(core.bus, call)


@router.post("/sessions/{session_id}/preview")
async def call_preview(session_id: SessionId, call: ToolCall, user: UserDep, core: CoreDep) -> Preview:
    """What this call would change if it ran now in the session. Needs permission to act in the session."""
    check_can_write(user, await readable_session(core, session_id, user))
    request = PreviewCall(session_id=session_id, tool=call.tool, arguments=call.arguments)
    return await tools.preview(core.bus, request)
