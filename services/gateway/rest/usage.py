"""REST: tokens and what they cost."""

from typing import Annotated

from fastapi import APIRouter, Query

from parley.events.values import SESSION_ID
from services.gateway.ports import query
from services.gateway.rest.refusals import REFUSALS
from services.gateway.rest.sessions import readable
from services.gateway.state import Behind, Me
from shared import store_api as api

router = APIRouter(prefix="/api", responses=REFUSALS)


@router.get("/usage")
async def usage(
    user: Me, core: Behind, session_id: Annotated[str | None, Query(pattern=SESSION_ID)] = None
) -> api.UsageReport:
    """Tokens and cost by model and role: of my sessions, or of one of them."""
    if session_id is not None:
        await readable(core, session_id, user)
        return await query(core.store, api.USAGE_TOTALS, api.UsageTotals(session_id=session_id))
    return await query(core.store, api.USAGE_TOTALS, api.UsageTotals(user=user.scope))
