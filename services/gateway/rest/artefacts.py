"""REST: results of actions that are too large for the journal."""

import re
from typing import Annotated

from fastapi import APIRouter, Path, Response

from services.gateway.rest.parameters import ActionId, SessionId
from services.gateway.rest.refusals import REFUSALS
from services.gateway.rest.sessions import readable
from services.gateway.state import Behind, Me
from services.gateway.trouble import Trouble
from shared.domain.waves import find

router = APIRouter(prefix="/api", responses=REFUSALS)

Turn = Annotated[int, Path(ge=1, le=2**31)]
ATTEMPTS = 5  # of an action whose turn is over that are looked for


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
