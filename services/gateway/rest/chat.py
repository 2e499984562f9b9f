"""REST: one chat message, answered once the session is idle, or as a stream of events."""

from collections.abc import AsyncIterator
from functools import partial

from fastapi import APIRouter, Request, Response
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from parley.protocol import client as m
from services.gateway.api_errors import ApiError
from services.gateway.handlers import session_id_for
from services.gateway.live.hub import Follower, while_connected
from services.gateway.rest import flow_requests
from services.gateway.rest.bodies import JsonRoute
from services.gateway.rest.error_responses import ERROR_RESPONSES
from services.gateway.rest.flow_models import ChatReply, ChatRequest
from services.gateway.rest.flow_replies import chat_reply
from services.gateway.rest.models import ProblemDetails
from services.gateway.state import CoreDep, GatewayDep, WaitingUserDep
from shared.domain.session import Session

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES | flow_requests.WAITING_RESPONSES, route_class=JsonRoute)

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


@router.post("/chat", tags=["chat"], response_model=ChatReply, responses=CHAT_RESPONSES)
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
        version = await flow_requests.send_once(body, partial(_user_message, body), user, core, follower)
        if streaming := body.stream:
            return ChatStream(follower, version, body.timeout)
        return chat_reply(await while_connected(request, follower.wait_until_idle(version, body.timeout)))
    finally:
        if not streaming:
            follower.leave()


def _user_message(body: ChatRequest, session: Session) -> m.UserMessage | m.AnswerReply:
    *before, last = body.messages
    if body.session_id is None:
        return flow_requests.first_message(body, last.content, before, confirm=body.confirm)
    return flow_requests.next_message(body, last.content, session)


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
