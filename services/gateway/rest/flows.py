"""REST: chat messages and requests of the flows, answered once the session is idle or as a stream of events."""

from collections.abc import AsyncIterator, Callable, Sequence
from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Request, Response
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from parley.events.values import Confirm, Knowledge, Planning, SessionSettings
from parley.protocol import client as m
from parley.protocol.flows import FlowList, FlowView, PathCheck
from services.gateway.access.users import User, check_can_write, session_not_found
from services.gateway.api_errors import ApiError
from services.gateway.live.hub import Follower, while_connected
from services.gateway.messages import handlers
from services.gateway.messages.flows import flow_page, known_flow, path_check
from services.gateway.messages.handlers import session_id_for
from services.gateway.ports import Core, query
from services.gateway.rest.flow_models import (
    ChatMessage,
    ChatReply,
    ChatRequest,
    PathToCheck,
    PlannedPathReply,
    PlanningRequest,
    PlanRequest,
)
from services.gateway.rest.models import Limit, Offset, ProblemDetails, SessionId
from services.gateway.rest.requests import ERROR_RESPONSES, JsonRoute
from services.gateway.rest.sessions import readable_session
from services.gateway.state import CoreDep, GatewayDep, UserDep, WaitingUserDep
from services.gateway.views.flow_replies import chat_reply, flow_view, path_reply
from shared import store_api as api
from shared.domain.kernel.session import SERVICE_OF, Session
from shared.domain.transcript.messages import CHAT_HISTORY

WAITING_RESPONSES: dict[int | str, dict[str, object]] = {
    400: {"model": ProblemDetails, "description": "The body cannot be read"},
    429: {"model": ProblemDetails, "description": "Too many requests wait at once"},
    504: {"model": ProblemDetails, "description": "No result in time; the session continues"},
}
MAX_HISTORY_CHARS = 50_000  # of the earlier messages
router = APIRouter(prefix="/api", responses=ERROR_RESPONSES, route_class=JsonRoute)

FlowName = Annotated[str, Path(min_length=1, max_length=500, examples=["text_to_sql"])]
EVENT_STREAM = "text/event-stream"
KEEPALIVE_COMMENT = ": still at work\n\n"
EVENT_SCHEMA = {
    "type": "object",
    "properties": {"event": {"enum": ["message", "result", "error"]}, "data": {"type": "string"}},
    "required": ["data"],
}
CHAT_RESPONSES: dict[int | str, dict[str, object]] = {
    200: {
        "description": "Where the session has come to. With `stream`, the messages of `/ws` as they come, one `data:` "
        "each; then `event: result` with the same as JSON, or `event: error` with a Problem",
        "content": {EVENT_STREAM: {"schema": EVENT_SCHEMA}},
    }
}


def first_message(
    body: PlanningRequest, text: str, history: Sequence[ChatMessage], *, confirm: Confirm
) -> m.UserMessage:
    """The message that begins a session."""
    settings = SessionSettings(confirm=confirm, planning=body.planning(Planning()))
    transcript = "\n\n".join(f"{message.role}: {message.content}" for message in history)[-MAX_HISTORY_CHARS:]
    knowledge = (Knowledge(name=CHAT_HISTORY, text=transcript),) if transcript else ()
    return _with_settings(body, text, settings).model_copy(update={"knowledge": knowledge})


def next_message(body: ChatRequest, text: str, session: Session) -> m.UserMessage | m.AnswerReply:
    """The answer to the open question, which the last reply told; or the next message of a session, which changes only
    the settings that the request names. Raises ApiError.
    """
    if session.version == 0:
        raise session_not_found(session.id)
    if session.question and session.question.about != "continue":
        return m.AnswerReply(type="answer", id=body.id, content=text)
    confirm = body.confirm if "confirm" in body.model_fields_set else session.settings.confirm
    planning = body.planning(session.settings.planning)
    return _with_settings(body, text, session.settings.model_copy(update={"confirm": confirm, "planning": planning}))


def _with_settings(body: PlanningRequest, text: str, settings: SessionSettings) -> m.UserMessage:
    return m.UserMessage(
        type="user_message", id=body.id, content=text, workflow="flow", settings=settings, time_zone=body.time_zone
    )


async def send_once(
    body: PlanningRequest,
    message_for: Callable[[Session], m.UserMessage | m.AnswerReply],
    user: User,
    core: Core,
    follower: Follower,
) -> int:
    """Send the message once. Returns the version after it. Raises ApiError, CommandRefused, or one of UNAVAILABLE."""
    if body.flow:
        known_flow(body.flow, await flow_page(core.bus))
    session = await follower.refresh()
    check_can_write(user, session)
    message = message_for(session)
    sent_before = f"{session.id}:{body.id}" in session.recent_commands
    if not sent_before:
        _check_idle(session)
    return (await handlers.act(message, session.id, handlers.Sender(user), core, follower.channel)).version


def _check_idle(session: Session) -> None:
    """Raises ApiError while the session works: it would read the message only later, and answer something else."""
    if session.paused:
        raise ApiError("not_now", "The session is paused.", "Send `unpause` to it first.", session_id=session.id)
    if session.phase in SERVICE_OF or session.reply:
        hint = (
            f"Wait for it (/api/sessions/{session.id}), stop it, or send a user_message to "
            f"/api/sessions/{session.id}/messages: that is taken in while it works."
        )
        activity = "answering a message" if session.reply else session.phase
        raise ApiError("not_now", f"The session is {activity} now.", hint, session_id=session.id)


@router.get("/planning/flows", tags=["planning"])
async def flow_list(user: UserDep, core: CoreDep) -> FlowList:
    """All flows with their nodes, and flows that could not be loaded."""
    page = await flow_page(core.bus)
    return FlowList(flows=tuple(map(flow_view, page.flows)), troubles=page.troubles)


@router.get("/planning/flows/{name}", tags=["planning"])
async def one_flow(name: FlowName, user: UserDep, core: CoreDep) -> FlowView:
    """One flow: its nodes with inputs, outputs, next nodes and conditions, and its default path."""
    return flow_view(known_flow(name, await flow_page(core.bus)))


@router.post("/planning/plan", tags=["planning"], responses=WAITING_RESPONSES)
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
        message = first_message(body, body.request, body.messages, confirm="path")
        version = await send_once(body, lambda _: message, user, core, follower)
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


@router.post("/chat", tags=["chat"], response_model=ChatReply, responses=WAITING_RESPONSES | CHAT_RESPONSES)
async def chat(
    body: ChatRequest, request: Request, user: WaitingUserDep, core: CoreDep, gateway: GatewayDep
) -> ChatReply | Response:
    """Send a chat message to Parley's flows, and wait for the result. The session can be opened in the page.

    Disconnecting does not stop the session.
    """
    if body.messages[-1].role != "user":
        raise ApiError("invalid", "The last message is not the user's.", "End `messages` with what the user says.")
    quota, session_id = gateway.quotas.for_user(user.id), body.session_id or session_id_for(user, body.id, core)
    quota.check_may_work(session_id)
    follower = Follower(gateway.hub, session_id, user, quota, new=body.session_id is None and body.id is None)
    streaming = False
    try:
        version = await send_once(body, partial(_user_message, body), user, core, follower)
        if streaming := body.stream:
            return ChatStream(follower, version, body.timeout)
        return chat_reply(await while_connected(request, follower.wait_until_idle(version, body.timeout)))
    finally:
        if not streaming:
            follower.leave()


def _user_message(body: ChatRequest, session: Session) -> m.UserMessage | m.AnswerReply:
    *before, last = body.messages
    if body.session_id is None:
        return first_message(body, last.content, before, confirm=body.confirm)
    return next_message(body, last.content, session)


class ChatStream(StreamingResponse):
    """Server-sent events of a session until it is idle; the follower leaves when the client disconnects."""

    def __init__(self, follower: Follower, version: int, seconds: float) -> None:
        super().__init__(_stream_events(follower, version, seconds), media_type=EVENT_STREAM)
        self._follower = follower

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._follower.leave()


async def _stream_events(follower: Follower, version: int, timeout: float) -> AsyncIterator[str]:  # noqa: ASYNC109
    try:
        async for text in follower.messages_until_idle(version, timeout):
            yield f"data: {text}\n\n" if text else KEEPALIVE_COMMENT
        yield f"event: result\ndata: {chat_reply(follower.session).model_dump_json(by_alias=True)}\n\n"
    except ApiError as error:
        yield f"event: error\ndata: {ProblemDetails.of(error).model_dump_json()}\n\n"
