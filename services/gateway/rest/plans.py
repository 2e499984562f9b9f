"""REST: plans and code of sessions, in all versions."""

from typing import Annotated

from fastapi import APIRouter, Query

from parley.events.values import Line
from services.gateway.ports import query
from services.gateway.rest.error_responses import ERROR_RESPONSES
from services.gateway.rest.parameters import From, Limit, Offset, SessionId, To, Version
from services.gateway.rest.sessions import readable_session
from services.gateway.state import CoreDep, UserDep
from shared import store_api as api

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES)


@router.get("/plans")
async def plans(
    user: UserDep,
    core: CoreDep,
    status: Annotated[list[Line] | None, Query(max_length=20)] = None,
    limit: Limit = 50,
    offset: Offset = 0,
) -> api.PlanPage:
    """The newest plan of each of my sessions, newest first."""
    request = api.ListPlans(user=user.scope, statuses=tuple(status or ()), limit=limit, offset=offset)
    return await query(core.store, api.PLAN_LIST, request)


@router.get("/sessions/{session_id}/plans")
async def plan_versions(session_id: SessionId, user: UserDep, core: CoreDep) -> api.PlanHistory:
    """Every version of the session's plan, oldest first."""
    await readable_session(core, session_id, user)
    return await query(core.store, api.PLAN_VERSIONS, api.PlanVersions(session_id=session_id))


@router.get("/sessions/{session_id}/plans/diff")
async def plan_diff(session_id: SessionId, user: UserDep, core: CoreDep, old: From, new: To) -> api.PlanDiff:
    """What changed between two versions of the plan, by step and as a unified diff."""
    await readable_session(core, session_id, user)
    return await query(core.store, api.PLAN_DIFF, api.DiffPlans(session_id=session_id, old=old, new=new))


@router.get("/sessions/{session_id}/plans/{version}")
async def plan(session_id: SessionId, version: Version, user: UserDep, core: CoreDep) -> api.PlanRecord:
    """One version of the plan."""
    await readable_session(core, session_id, user)
    return await query(core.store, api.PLAN_GET, api.GetPlan(session_id=session_id, version=version))


@router.get("/sessions/{session_id}/codes")
async def code_versions(session_id: SessionId, user: UserDep, core: CoreDep) -> api.CodeHistory:
    """Every version of the session's code, oldest first."""
    await readable_session(core, session_id, user)
    return await query(core.store, api.CODE_VERSIONS, api.CodeVersions(session_id=session_id))
