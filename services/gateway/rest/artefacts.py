"""REST: action results that are too large for the journal."""

import re
from typing import Annotated

from fastapi import APIRouter, Path, Response

from services.gateway.api_errors import ApiError
from services.gateway.rest.error_responses import ERROR_RESPONSES
from services.gateway.rest.parameters import ActionId, SessionId
from services.gateway.rest.sessions import readable_session
from services.gateway.state import CoreDep, UserDep
from shared.domain.batches import find_action

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES)

Turn = Annotated[int, Path(ge=1, le=2**31)]
MAX_ATTEMPTS = 5  # tried for an action of an earlier turn


@router.get("/sessions/{session_id}/artefacts/{turn}/{action_id}", response_class=Response)
async def artefact(session_id: SessionId, turn: Turn, action_id: ActionId, user: UserDep, core: CoreDep) -> Response:
    """The whole result of an action of which the journal has only the beginning."""
    action = find_action(await readable_session(core, session_id, user), action_id)
    attempts = (action.attempt,) if action else range(1, MAX_ATTEMPTS + 1)  # only one of them returned a result
    for attempt in attempts:
        if (body := await core.bus.fetch(f"{session_id}/{turn}/{action_id}/{attempt}")) is not None:
            break
    else:
        raise ApiError("not_found", f"Action {action_id} of turn {turn} has no result that is kept apart.")
    name = re.sub(r"[^A-Za-z0-9._-]", "-", f"{session_id[:8]}-{turn}-{action_id}.txt")
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(body, media_type="text/plain; charset=utf-8", headers=headers)
