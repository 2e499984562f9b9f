"""REST: a chat in one request, answered when the session asks or rests, or told as it happens."""

from collections.abc import AsyncIterator
from functools import partial

from fastapi import APIRouter, Request, Response
from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from parley.protocol import client as m
from services.gateway.handlers import session_id_for
from services.gateway.live.following import Follower, while_connected
from services.gateway.rest import flow_requests
from services.gateway.rest.bodies import JsonRoute
from services.gateway.rest.flow_models import ChatReply, ChatRequest
from services.gateway.rest.flow_replies import chat_reply
from services.gateway.rest.models import Problem
from services.gateway.rest.refusals import REFUSALS
from services.gateway.state import Behind, Here, MeWaiting
from services.gateway.trouble import Trouble
from shared.domain.session import Session

router = APIRouter(prefix="/api", responses=REFUSALS | flow_requests.REFUSALS, route_class=JsonRoute)

STREAM = "text/event-stream"
STILL_THERE = ": still at work\n\n"
ONE_EVENT = {
    "type": "object",
    "properties": {"event": {"enum": ["message", "result", "error"]}, "data": {"type": "string"}},
    "required": ["data"],
}
STREAMED: dict[int | str, dict[str, object]] = {
    200: {
        "description": "Where the session has come to. With `stream`, the messages of `/ws` as they come, one `data:` "
        "each; then `event: result` with the same as JSON, or `event: error` with a Problem",
        "content": {STREAM: {"schema": ONE_EVENT}},
    }
}


@router.post("/chat", tags=["chat"], response_model=ChatReply, responses=STREAMED)
async def chat(asked: ChatRequest, request: Request, user: MeWaiting, core: Behind, here: Here) -> ChatReply | Response:
    """Say something to Parley's flows, and wait for what comes of it. The session can be opened in the page.

    Whoever leaves does not stop the session.
    """
    if asked.messages[-1].role != "user":
        raise Trouble("invalid", "The last message is not the user's.", "End `messages` with what the user says.")
    quota, session_id = here.quotas.of(user.id), asked.session_id or session_id_for(user, asked.id, core)
    quota.may_work(session_id)
    follower = Follower(here.hub, session_id, user, quota)
    streaming = False
    try:
        version = await flow_requests.say(asked, partial(_words, asked), user, core, follower)
        if streaming := asked.stream:
            return Told(follower, version, asked.timeout)
        return chat_reply(await while_connected(request, follower.come_to(version, asked.timeout)))
    finally:
        if not streaming:
            follower.leave()


def _words(asked: ChatRequest, session: Session) -> m.UserMessage:
    *before, last = asked.messages
    if asked.session_id is None:
        return flow_requests.first(asked, last.content, before, confirm=asked.confirm)
    return flow_requests.following(asked, last.content, session)


class Told(StreamingResponse):
    """What happens in the session, until it asks or rests; its follower leaves when nobody listens any more."""

    def __init__(self, follower: Follower, version: int, seconds: float) -> None:
        super().__init__(_told(follower, version, seconds), media_type=STREAM)
        self._follower = follower

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._follower.leave()


async def _told(follower: Follower, version: int, timeout: float) -> AsyncIterator[str]:  # noqa: ASYNC109
    try:
        async for text in follower.letters(version, timeout):
            yield f"data: {text}\n\n" if text else STILL_THERE
        yield f"event: result\ndata: {chat_reply(follower.session).model_dump_json(by_alias=True)}\n\n"
    except Trouble as trouble:
        yield f"event: error\ndata: {Problem.of(trouble).model_dump_json()}\n\n"
