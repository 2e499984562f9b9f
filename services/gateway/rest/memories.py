"""REST: what Parley remembers of earlier requests."""

from typing import Annotated

from fastapi import APIRouter, Query

from services.gateway.ports import query
from services.gateway.rest.parameters import Limit, Offset
from services.gateway.rest.refusals import REFUSALS
from services.gateway.state import Behind, Me
from shared import store_api as api

router = APIRouter(prefix="/api", responses=REFUSALS)


@router.get("/memories")
async def memories(
    user: Me,
    core: Behind,
    q: Annotated[str, Query(max_length=500)] = "",
    limit: Limit = 50,
    offset: Offset = 0,
) -> api.MemoryPage:
    """What the planner may be told of my earlier requests, newest first; with `q` what has all its words."""
    wanted = api.ListMemories(user=user.id, query=q, limit=limit, offset=offset)
    return await query(core.store, api.MEMORY_LIST, wanted)
