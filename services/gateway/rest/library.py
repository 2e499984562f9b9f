"""REST: the library of accepted answers."""

from typing import Annotated

from fastapi import APIRouter, Query

from services.gateway.ports import query
from services.gateway.rest.error_responses import ERROR_RESPONSES
from services.gateway.rest.flow_models import LibraryQuery
from services.gateway.state import CoreDep, UserDep
from shared import store_api as api

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES)


@router.get("/library", tags=["library"])
async def library(user: UserDep, core: CoreDep, filters: Annotated[LibraryQuery, Query()]) -> api.LibraryPage:
    """The answers that I accepted, with the paths that led to them, newest first. `saved`: only saved ones (or not)."""
    request = api.ListLibrary(
        user=user.id, query=filters.q, saved=filters.saved, limit=filters.limit, offset=filters.offset
    )
    return await query(core.store, api.LIBRARY_LIST, request)
