"""`parley mcp`: Parley as an MCP server. An assistant can start sessions, read plans and submit the user's decisions.

It is an ordinary client of the running gateway. stdout belongs to the MCP protocol.
"""

import asyncio
import hmac
import inspect
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from functools import wraps
from typing import Annotated

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from cli.command import Declined, version
from cli.gateway import GatewayAddress, explain, find_gateway
from cli.mcp import plans as plans
from cli.mcp.state import SessionItem, Sessions, SessionState, state_of
from cli.operate.ports import is_free, who_listens
from parley.client import Parley, ParleyError
from parley.events.values import SessionSettings, Workflow
from shared.settings import Settings
from shared.time_zones import own_time_zone

INSTRUCTIONS = """Parley plans with the user before it acts. Start a session with a request, wait, and show the user
what needs a decision: a plan, code, actions or a question. Approve only what the user has approved, with the version
and hash that they saw; send what they want to change as feedback. Then wait again until there is an answer.
To show the user every tool call before any of them runs, generate an execution plan instead."""
GATEWAY_TIMEOUT = 3.0  # seconds for which an unavailable gateway is retried
HOST = "127.0.0.1"
KEEP_ALIVE = 75  # seconds between requests: longer than a client reuses a connection, or it might send as we close it
READS = ToolAnnotations(read_only_hint=True)
WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=False)
DECIDES = ToolAnnotations(read_only_hint=False, destructive_hint=True)  # a host should ask its user first

SessionId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$", description="The session's id.")]
Version = Annotated[int, Field(ge=1, description="Its version, from read_session; for an action, the session's.")]
Hash = Annotated[str, Field(min_length=1, description="Its hash, from read_session.")]


async def start_session(
    parley: Parley,
    request: Annotated[str, Field(min_length=1, max_length=50_000, description="The user's request, in words.")],
    workflow: Annotated[Workflow | None, Field(description="null: the default.")] = None,
    settings: Annotated[SessionSettings | None, Field(description="null: the defaults.")] = None,
) -> SessionState:
    """Start a session with a request. Planning takes a while: call wait next."""
    session = await parley.start(request, workflow=workflow, settings=settings, time_zone=own_time_zone())
    return state_of(session.id, await session.screen())


async def read_session(parley: Parley, session_id: SessionId) -> SessionState:
    """Read a session: plan and code with version and hash, what waits for the user, and the answer."""
    return state_of(session_id, await parley.session(session_id).screen())


async def list_sessions(
    parley: Parley,
    words: Annotated[str, Field(max_length=500, description="Only sessions that contain all of these words.")] = "",
    limit: Annotated[int, Field(ge=1, le=100)] = 20,
) -> Sessions:
    """List the user's sessions, newest first."""
    page = await parley.sessions(words, limit=limit)
    return Sessions(sessions=tuple(SessionItem.of(row) for row in page.sessions), total=page.total)


async def wait(
    parley: Parley, session_id: SessionId, seconds: Annotated[float, Field(ge=0, le=60)] = 30
) -> SessionState:
    """Wait until the session needs the user or rests, at most this many seconds; returns its state."""
    session = parley.session(session_id)
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds), aclosing(session.screens()) as screens:
            async for screen in screens:
                state = state_of(session_id, screen)
                if state.waits_for != "work":
                    return state
    return state_of(session_id, await session.screen())


async def approve(
    parley: Parley,
    session_id: SessionId,
    version: Version,
    hash: Hash,  # noqa: A002  the protocol's name
    action_id: Annotated[str | None, Field(description="The action, if actions wait.")] = None,
) -> SessionState:
    """Approve exactly this plan, code or action, only after the user has approved it."""
    yes = {"approved": True, "version": version, "hash": hash, "action_id": action_id}
    return await _send(parley, session_id, type="approval", **yes)


async def reject(
    parley: Parley,
    session_id: SessionId,
    version: Version,
    action_id: Annotated[str | None, Field(description="The action, if actions wait.")] = None,
    reason: Annotated[str, Field(max_length=2_000, description="The reason, for an action.")] = "",
) -> SessionState:
    """Reject a plan, code or action for the user. For a plan or code, Parley then asks for feedback."""
    no = {"approved": False, "version": version, "action_id": action_id, "reason": reason}
    return await _send(parley, session_id, type="approval", **no)


async def feedback(
    parley: Parley, session_id: SessionId, text: Annotated[str, Field(min_length=1, max_length=50_000)]
) -> SessionState:
    """Send feedback on the plan or code in review, or another message: it withdraws nothing that waits or runs."""
    session = parley.session(session_id)
    view = (await session.screen()).view
    kind = "feedback" if view.review or view.feedback_request else "user_message"
    return state_of(session_id, await session.screen(await session.send(type=kind, content=text)))


async def answer_question(
    parley: Parley,
    session_id: SessionId,
    text: Annotated[str, Field(min_length=1, max_length=50_000)],
    more: Annotated[tuple[str, ...], Field(max_length=2, description="The answers to its `further` ones.")] = (),
) -> SessionState:
    """Answer the open question with the user's words, and those that follow it, in their order."""
    return await _send(parley, session_id, type="answer", content=text, more=more)


async def decide_offer(
    parley: Parley,
    session_id: SessionId,
    version: Annotated[int, Field(ge=1, description="The version of the offer that the user saw.")],
    take: Annotated[bool, Field(description="true: put it in the place of what is there; false: keep that.")],
) -> SessionState:
    """Take the offer or keep what is there, only as the user has decided."""
    return await _send(parley, session_id, type="take_offer" if take else "keep_offer", version=version)


async def _send(parley: Parley, session_id: str, **message: object) -> SessionState:
    session = parley.session(session_id)
    return state_of(session_id, await session.screen(await session.send(**message)))


type Tool = Callable[..., Awaitable[object]]
TOOLS: tuple[tuple[ToolAnnotations, tuple[Tool, ...]], ...] = (
    (READS, (read_session, list_sessions, wait)),
    (READS, (plans.get_plan_by_task_id, plans.get_plan_status, plans.list_plans, plans.format_execution_plan)),
    (WRITES, (start_session, reject, feedback, answer_question)),
    (WRITES, (plans.generate_execution_plan, plans.store_plan, plans.modify_execution_plan)),
    (DECIDES, (approve, decide_offer, plans.approve_execution_plan, plans.execute_plan)),
    (DECIDES, (plans.skip_plan_step, plans.cancel_plan, plans.delete_plan)),
)


def build_server(find: Callable[[], GatewayAddress]) -> MCPServer:
    """The server, for either transport. Each call finds the gateway again: `parley up` may have been restarted."""
    server = MCPServer("parley", title="Parley", instructions=INSTRUCTIONS, version=version(), log_level="WARNING")
    for hints, functions in TOOLS:
        for function in functions:
            server.add_tool(_with_client(function, find), annotations=hints)
    return server


def _with_client(function: Tool, find: Callable[[], GatewayAddress]) -> Tool:
    """The function as a tool, without its first parameter: a client, whose errors become ToolError with their code."""

    @wraps(function)
    async def tool(**arguments: object) -> object:
        gateway = find()
        try:
            async with Parley(gateway.url, token=gateway.token, timeout=GATEWAY_TIMEOUT) as parley:
                return await function(parley, **arguments)
        except ParleyError as error:
            raise ToolError(f"{explain(error)} [{error.code}]") from error

    signature = inspect.signature(function)
    _, *parameters = signature.parameters.values()
    tool.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    return tool


async def serve(settings: Settings, *, url: str = "", port: int | None = None) -> int:
    """Serve over stdio until stdin ends; with a port, over streamable HTTP on loopback until a signal.

    Raises Declined if the port is not free.
    """

    def find() -> GatewayAddress:
        return find_gateway(settings, url)

    server = build_server(find)
    if port is None:
        # A thread blocks on stdin, so only the default handler can end the process.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        await server.run_stdio_async()
        return 0
    if not is_free(HOST, port):
        raise Declined(f"Port {port} is in use ({who_listens(port) or 'by another program'}): give another one.")
    token = " (clients send Authorization: Bearer and the gateway's token)" if find().token else ""
    print(f"parley mcp: http://{HOST}:{port}/mcp{token}", file=sys.stderr, flush=True)
    app = TokenMiddleware(server.streamable_http_app(), lambda: find().token)
    config = uvicorn.Config(
        app, host=HOST, port=port, log_config=None, access_log=False, lifespan="on", timeout_keep_alive=KEEP_ALIVE
    )
    await uvicorn.Server(config).serve()
    return 0


class TokenMiddleware:
    """Requires the gateway's token over HTTP, if it has one: any caller of the port acts as the user."""

    def __init__(self, app: ASGIApp, token: Callable[[], str]) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (token := self._token()):
            presented = Headers(scope=scope).get("authorization", "").removeprefix("Bearer ")
            if not hmac.compare_digest(presented.encode(), token.encode()):
                words = "Send the gateway's token: Authorization: Bearer …"
                await PlainTextResponse(words, 401, {"WWW-Authenticate": "Bearer"})(scope, receive, send)
                return
        await self._app(scope, receive, send)
