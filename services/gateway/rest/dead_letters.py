"""REST: messages that were put aside."""

from typing import Annotated

from fastapi import APIRouter, Path, Query

from services.gateway.access.users import User
from services.gateway.ports import query
from services.gateway.rest.parameters import Limit, Offset
from services.gateway.rest.refusals import REFUSALS
from services.gateway.state import Behind, Me
from services.gateway.trouble import Trouble
from shared import store_api as api

router = APIRouter(prefix="/api", responses=REFUSALS)


@router.get("/dead")
async def dead(
    user: Me, core: Behind, limit: Limit = 100, offset: Offset = 0, dismissed: Annotated[bool, Query()] = False
) -> api.DeadPage:
    """Messages that were put aside: no event of their session, or given up by a consumer. For the operator.

    With `dismissed` those that were put away since.
    """
    _only_the_operator(user)
    return await query(core.store, api.DEAD_LIST, api.ListDead(limit=limit, offset=offset, dismissed=dismissed))


@router.delete("/dead/{stream}/{stream_seq}")
async def dismiss(
    stream: Annotated[str, Path(min_length=1, max_length=64)],
    stream_seq: Annotated[int, Path(ge=1, le=2**53)],
    user: Me,
    core: Behind,
) -> api.DismissedDead:
    """Put away what is listed of this message; who did so, and when, is kept. For the operator.

    It carries nothing out: `retry`, as a message to the session, has the stage done again that failed.
    """
    _only_the_operator(user)
    gone = api.DismissDead(stream=stream, stream_seq=stream_seq, user=user.id)
    return await query(core.store, api.DEAD_DISMISS, gone)


def _only_the_operator(user: User) -> None:
    """Raises Trouble(forbidden) for anybody else."""
    if not user.everything:
        raise Trouble("forbidden", "Only the operator sees what was put aside.", "Use `parley dead` on the server.")
