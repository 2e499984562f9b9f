"""REST: the tools there are, what a call would change, and results that are too large for the journal."""

import re
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response

from parley.protocol.tools import ListTools, Preview, PreviewCall, ToolPage
from services.gateway import tools
from services.gateway.access.users import may_write
from services.gateway.rest.bodies import JsonRoute
from services.gateway.rest.models import Call
from services.gateway.rest.reading import REFUSALS, SessionId, readable
from services.gateway.state import Behind, Me
from services.gateway.trouble import Trouble
from shared.domain.paths import OPEN
from shared.domain.waves import find

router = APIRouter(prefix="/api", responses=REFUSALS, route_class=JsonRoute)

ActionId = Annotated[str, Path(min_length=1, max_length=64)]
Turn = Annotated[int, Path(ge=1, le=2**31)]
ATTEMPTS = 5  # of an action whose turn is over that are looked for


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


@router.get("/sessions/{session_id}/artefacts/{turn}/{action_id}", response_class=Response)
async def artefact(session_id: SessionId, turn: Turn, action_id: ActionId, user: Me, core: Behind) -> Response:
    """The whole result of an action, where the journal has only its beginning."""
    action = find(await readable(core, session_id, user), action_id)
    attempts = (action.attempt,) if action else range(1, ATTEMPTS + 1)  # only one of them returned a result
    for attempt in attempts:
        if (body := await core.bus.fetch(f"{session_id}/{turn}/{action_id}/{attempt}")) is not None:
            break
    else:
        raise Trouble("not_found", f"Action {action_id} of turn {turn} has no result that is kept apart.")
    name = re.sub(r"[^A-Za-z0-9._-]", "-", f"{session_id[:8]}-{turn}-{action_id}.txt")
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(body, media_type="text/plain; charset=utf-8", headers=headers)
