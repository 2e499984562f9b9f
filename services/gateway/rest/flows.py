"""REST: the flows there are, a path planned for a request, and the proposals of planners."""

from typing import Annotated

from fastapi import APIRouter, Path, Request

from parley.protocol import client as m
from parley.protocol.flows import PathCheck
from services.gateway.flows import flow_page, known_flow, path_check
from services.gateway.handlers import session_id_for
from services.gateway.live.following import Follower, while_connected
from services.gateway.ports import query
from services.gateway.rest import flow_requests
from services.gateway.rest.bodies import JsonRoute
from services.gateway.rest.flow_models import FlowList, FlowView, PathReply, PathToCheck, PlanRequest
from services.gateway.rest.flow_replies import flow_view, path_reply
from services.gateway.rest.parameters import Limit, Offset, SessionId
from services.gateway.rest.refusals import REFUSALS
from services.gateway.rest.sessions import readable
from services.gateway.state import Behind, Here, Me, MeWaiting
from shared import store_api as api

router = APIRouter(prefix="/api", responses=REFUSALS, route_class=JsonRoute)

FlowName = Annotated[str, Path(min_length=1, max_length=500, examples=["text_to_sql"])]


@router.get("/planning/flows", tags=["planning"])
async def flow_list(user: Me, core: Behind) -> FlowList:
    """The flows there are, with their nodes, and those that could not be loaded."""
    page = await flow_page(core.bus)
    return FlowList(flows=tuple(map(flow_view, page.flows)), troubles=page.troubles)


@router.get("/planning/flows/{name}", tags=["planning"])
async def one_flow(name: FlowName, user: Me, core: Behind) -> FlowView:
    """One flow: its nodes with inputs, outputs, next nodes and conditions, and its ordinary way."""
    return flow_view(known_flow(name, await flow_page(core.bus)))


@router.post("/planning/plan", tags=["planning"], responses=flow_requests.REFUSALS)
async def plan(asked: PlanRequest, request: Request, user: MeWaiting, core: Behind, here: Here) -> PathReply:
    """Plan the path of a request and do not walk it: a session is begun whose path waits for a yes.

    Approve it with `POST /api/sessions/{session_id}/messages`, or in the page, where it can be changed first.
    """
    quota, session_id = here.quotas.of(user.id), session_id_for(user, asked.id, core)
    quota.may_work(session_id)
    follower = Follower(here.hub, session_id, user, quota)
    try:
        message = flow_requests.first(asked, asked.request, asked.messages, confirm="path")
        version = await flow_requests.say(asked, lambda _: message, user, core, follower)
        return path_reply(await while_connected(request, follower.come_to(version, asked.timeout)))
    finally:
        follower.leave()


@router.get("/planning/proposals", tags=["planning"])
async def proposals(user: Me, core: Behind, limit: Limit = 50, offset: Offset = 0) -> api.ProposalPage:
    """The nodes that planners of my sessions missed in a flow, newest first: for review, they are never run."""
    wanted = api.ListProposals(user=user.id, limit=limit, offset=offset)
    return await query(core.store, api.PROPOSAL_LIST, wanted)


@router.post("/sessions/{session_id}/path/check", tags=["planning"])
async def check(session_id: SessionId, path: PathToCheck, user: Me, core: Behind) -> PathCheck:
    """What is wrong with a path that is being changed: the one in review, or the rest of the one that is being walked.

    Nothing is saved by it: that is what `edit` and `edit_path` do.
    """
    session = await readable(core, session_id, user)
    message = m.EditPath(type="edit_path", nodes=path.nodes, given=path.given)
    return path_check(message, session, await flow_page(core.bus, session_id))
