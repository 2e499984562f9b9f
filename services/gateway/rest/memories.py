"""REST: what Parley remembers of earlier requests."""

import re
from typing import Annotated

from fastapi import APIRouter, Path, Query

from services.gateway.ports import query
from services.gateway.rest.parameters import Limit, Offset
from services.gateway.rest.refusals import REFUSALS
from services.gateway.state import Behind, Me
from services.gateway.trouble import Trouble
from shared import store_api as api

router = APIRouter(prefix="/api", responses=REFUSALS)
ID = re.compile(r"(?P<session>[A-Za-z0-9_-]{1,64})\.(?P<version>[1-9][0-9]{0,14})")


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


@router.delete("/memories/{memory_id}")
async def forget(memory_id: Annotated[str, Path(max_length=100)], user: Me, core: Behind) -> api.Forgotten:
    """Delete one of my memories: the planner is not told it again. Its session keeps what was said in it."""
    if not (found := ID.fullmatch(memory_id)):
        raise _missing(memory_id)
    gone = api.ForgetMemory(user=user.id, session_id=found["session"], version=int(found["version"]))
    try:
        return await query(core.store, api.MEMORY_FORGET, gone)
    except Trouble as error:
        raise (_missing(memory_id) if error.code == "not_found" else error) from error


def _missing(memory_id: str) -> Trouble:
    """There is none, or it is somebody else's."""
    return Trouble("not_found", f"You have no memory {memory_id}.", "GET /api/memories lists yours, each with its id.")
