"""REST: flows, planning a path for a request, and proposed nodes."""

from typing import Annotated

from fastapi import APIRouter, Path, Request

from parley.protocol import client as m
from parley.protocol.flows import FlowList, FlowView, PathCheck
from services.gateway.flows import flow_page, known_flow, path_check
from services.gateway.handlers import session_id_for
from services.gateway.live.hub import Follower, while_connected
from services.gateway.ports import query
from services.gateway.rest import flow_requests
from services.gateway.rest.bodies import JsonRoute
from services.gateway.rest.error_responses import ERROR_RESPONSES
from services.gateway.rest.flow_models import PathToCheck, PlannedPathReply, PlanRequest
from services.gateway.rest.flow_replies import flow_view, path_reply
from services.gateway.rest.parameters import Limit, Offset, SessionId
from services.gateway.rest.sessions import readable_session
from services.gateway.state import CoreDep, GatewayDep, UserDep, WaitingUserDep
from shared import store_api as api

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES, route_class=JsonRoute)

FlowName = Annotated[str, Path(min_length=1, max_length=500, examples=["text_to_sql"])]


@router.get("/planning/flows", tags=["planning"])
async def flow_list(user: UserDep, core: CoreDep) -> FlowList:
    """All flows with their nodes, and flows that could not be loaded."""
    page = await flow_page(core.bus)
    return FlowList(flows=tuple(map(flow_view, page.flows)), troubles=page.troubles)


@router.get("/planning/flows/{name}", tags=["planning"])
async def one_flow(name: FlowName, user: UserDep, core: CoreDep) -> FlowView:
    """One flow: its nodes with inputs, outputs, next nodes and conditions, and its default path."""
    return flow_view(known_flow(name, await flow_page(core.bus)))


@router.post("/planning/plan", tags=["planning"], responses=flow_requests.WAITING_RESPONSES)
async def plan(
    body: PlanRequest, request: Request, user: WaitingUserDep, core: CoreDep, gateway: GatewayDep
) -> PlannedPathReply:
    """Plan a path for a request without running it: this starts a session whose path awaits approval.

    Approve it with `POST /api/sessions/{session_id}/messages`, or in the page, where you can change it first.
    """
    quota, session_id = gateway.quotas.for_user(user.id), session_id_for(user, body.id, core)
    quota.check_may_work(session_id)
    follower = Follower(gateway.hub, session_id, user, quota, new=body.id is None)
    try:
        message = flow_requests.first_message(body, body.request, body.messages, confirm="path")
        version = await flow_requests.send_once(body, lambda _: message, user, core, follower)
        return path_reply(await while_connected(request, follower.wait_until_idle(version, body.timeout)))
    finally:
        follower.leave()


@router.get("/planning/proposals", tags=["planning"])
async def proposals(user: UserDep, core: CoreDep, limit: Limit = 50, offset: Offset = 0) -> api.ProposalPage:
    """Nodes that the planner proposed in my sessions because a flow lacks them, newest first. They never run."""
    request = api.ListProposals(user=user.id, limit=limit, offset=offset)
    return await query(core.store, api.PROPOSAL_LIST, request)


@router.post("/sessions/{session_id}/path/check", tags=["planning"])
async def check(session_id: SessionId, path: PathToCheck, user: UserDep, core: CoreDep) -> PathCheck:
    """Check an edited path: the one in review, or the rest of the running one.

    Nothing is saved: `edit` and `edit_path` do that.
    """
    session = await readable_session(core, session_id, user)
    message = m.EditPath(type="edit_path", nodes=path.nodes, given=path.given)
    return path_check(message, session, await flow_page(core.bus, session_id))
