"""REST: dead letters, for the operator."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from services.gateway.access.users import User
from services.gateway.api_errors import ApiError
from services.gateway.ports import query
from services.gateway.rest.error_responses import ERROR_RESPONSES
from services.gateway.rest.parameters import Limit, Offset
from services.gateway.state import CoreDep, UserDep
from shared import store_api as api

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES)


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
