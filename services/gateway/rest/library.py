"""REST: the answers that were accepted, with the paths that led to them."""

from typing import Annotated

from fastapi import APIRouter, Query

from services.gateway.ports import query
from services.gateway.rest.flow_models import LibraryQuery
from services.gateway.rest.refusals import REFUSALS
from services.gateway.state import Behind, Me
from shared import store_api as api

router = APIRouter(prefix="/api", responses=REFUSALS)


@router.get("/library", tags=["library"])
async def library(user: Me, core: Behind, asked: Annotated[LibraryQuery, Query()]) -> api.LibraryPage:
    """The answers I accepted, with the paths that led to them, newest first; `saved`: only those I keep (or not)."""
    wanted = api.ListLibrary(user=user.id, query=asked.q, saved=asked.saved, limit=asked.limit, offset=asked.offset)
    return await query(core.store, api.LIBRARY_LIST, wanted)
