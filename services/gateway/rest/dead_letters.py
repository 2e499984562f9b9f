"""REST: messages that were put aside."""

from fastapi import APIRouter

from services.gateway.ports import query
from services.gateway.rest.parameters import Limit, Offset
from services.gateway.rest.refusals import REFUSALS
from services.gateway.state import Behind, Me
from services.gateway.trouble import Trouble
from shared import store_api as api

router = APIRouter(prefix="/api", responses=REFUSALS)


@router.get("/dead")
async def dead(user: Me, core: Behind, limit: Limit = 100, offset: Offset = 0) -> api.DeadPage:
    """Messages that were put aside: no event of their session, or given up by a consumer. For the operator."""
    if not user.everything:
        raise Trouble("forbidden", "Only the operator sees what was put aside.", "Use `parley dead` on the server.")
    return await query(core.store, api.DEAD_LIST, api.ListDead(limit=limit, offset=offset))
