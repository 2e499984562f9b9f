"""REST: what is stored beside the sessions: memories, the library, usage, and dead letters for the operator."""

import re
from typing import Annotated

from fastapi import APIRouter, Path, Query

from parley.events.values import SESSION_ID
from services.gateway.access.users import User
from services.gateway.api_errors import ApiError
from services.gateway.ports import query
from services.gateway.rest.flow_models import LibraryQuery
from services.gateway.rest.models import Limit, Offset
from services.gateway.rest.requests import ERROR_RESPONSES
from services.gateway.rest.sessions import readable_session
from services.gateway.state import CoreDep, UserDep
from shared import store_api as api

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES)
MEMORY_ID = re.compile(r"(?P<session>[A-Za-z0-9_-]{1,64})\.(?P<version>[1-9][0-9]{0,14})")


@router.get("/memories")
async def memories(
    user: UserDep,
    core: CoreDep,
    q: Annotated[str, Query(max_length=500)] = "",
    limit: Limit = 50,
    offset: Offset = 0,
) -> api.MemoryPage:
    """Memories of my earlier requests that the planner may use, newest first; `q`: words that they must contain."""
    request = api.ListMemories(user=user.id, query=q, limit=limit, offset=offset)
    return await query(core.store, api.MEMORY_LIST, request)


@router.delete("/memories/{memory_id}")
async def forget(memory_id: Annotated[str, Path(max_length=100)], user: UserDep, core: CoreDep) -> api.Forgotten:
    """Delete one of my memories, so that the planner no longer uses it. Its session is unchanged."""
    if not (match := MEMORY_ID.fullmatch(memory_id)):
        raise _memory_not_found(memory_id)
    request = api.ForgetMemory(user=user.id, session_id=match["session"], version=int(match["version"]))
    try:
        return await query(core.store, api.MEMORY_FORGET, request)
    except ApiError as error:
        raise (_memory_not_found(memory_id) if error.code == "not_found" else error) from error


@router.get("/library", tags=["library"])
async def library(user: UserDep, core: CoreDep, filters: Annotated[LibraryQuery, Query()]) -> api.LibraryPage:
    """The answers that I accepted, with the paths that led to them, newest first. `saved`: only saved ones (or not)."""
    request = api.ListLibrary(
        user=user.id, query=filters.q, saved=filters.saved, limit=filters.limit, offset=filters.offset
    )
    return await query(core.store, api.LIBRARY_LIST, request)


@router.get("/usage")
async def usage(
    user: UserDep, core: CoreDep, session_id: Annotated[str | None, Query(pattern=SESSION_ID)] = None
) -> api.UsageReport:
    """Tokens and cost by model and role, of all my sessions or of one."""
    if session_id is not None:
        await readable_session(core, session_id, user)
        return await query(core.store, api.USAGE_TOTALS, api.GetUsage(session_id=session_id))
    return await query(core.store, api.USAGE_TOTALS, api.GetUsage(user=user.scope))


def _memory_not_found(memory_id: str) -> ApiError:
    """The same error for a memory that does not exist and for another user's."""
    return ApiError("not_found", f"You have no memory {memory_id}.", "GET /api/memories lists yours, each with its id.")


@router.get("/dead")
async def dead(
    user: UserDep, core: CoreDep, limit: Limit = 100, offset: Offset = 0, dismissed: Annotated[bool, Query()] = False
) -> api.DeadPage:
    """Dead letters: messages that are not a valid event of their session, or that a consumer gave up on.

    With `dismissed`, those that have been dismissed. For the operator.
    """
    _check_operator(user)
    return await query(core.store, api.DEAD_LIST, api.ListDead(limit=limit, offset=offset, dismissed=dismissed))


@router.delete("/dead/{stream}/{stream_seq}")
async def dismiss(
    stream: Annotated[str, Path(min_length=1, max_length=64)],
    stream_seq: Annotated[int, Path(ge=1, le=2**53)],
    user: UserDep,
    core: CoreDep,
) -> api.DismissedDead:
    """Dismiss a dead letter; who did so, and when, is recorded. For the operator.

    This does not process it: send `retry` to the session to repeat the failed stage.
    """
    _check_operator(user)
    request = api.DismissDead(stream=stream, stream_seq=stream_seq, user=user.id)
    return await query(core.store, api.DEAD_DISMISS, request)


def _check_operator(user: User) -> None:
    """Raises ApiError(forbidden) for other users."""
    if not user.is_operator:
        raise ApiError(
            "forbidden",
            "Only the operator can see dead letters and parked messages.",
            "Use `parley dead` on the server.",
        )
