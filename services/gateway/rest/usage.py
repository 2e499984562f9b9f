"""REST: token usage and cost."""

from typing import Annotated

from fastapi import APIRouter, Query

from parley.events.values import SESSION_ID
from services.gateway.ports import query
from services.gateway.rest.error_responses import ERROR_RESPONSES
from services.gateway.rest.sessions import readable_session
from services.gateway.state import CoreDep, UserDep
from shared import store_api as api

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES)


@router.get("/usage")
async def usage(
    user: UserDep, core: CoreDep, session_id: Annotated[str | None, Query(pattern=SESSION_ID)] = None
) -> api.UsageReport:
    """Tokens and cost by model and role, of all my sessions or of one."""
    if session_id is not None:
        await readable_session(core, session_id, user)
        return await query(core.store, api.USAGE_TOTALS, api.GetUsage(session_id=session_id))
    return await query(core.store, api.USAGE_TOTALS, api.GetUsage(user=user.scope))
