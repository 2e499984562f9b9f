"""`parley mcp`: Parley as an MCP server. An assistant can start sessions, read plans and submit the user's decisions.

It is an ordinary client of the running gateway. stdout belongs to the MCP protocol.
"""

import asyncio
import hmac
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import Field
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from cli.command import Declined
from cli.gateway import GatewayAddress, explain, find_gateway
from cli.mcp_plans import PlanTools
from cli.mcp_state import SessionItem, Sessions, SessionState, state_of
from cli.ports import is_free, who_listens
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
Version = Annotated[int, Field(ge=1, description="The version to decide about, from read_session.")]
Hash = Annotated[str, Field(min_length=1, description="Its hash, from read_session.")]


class SessionTools:
    """The session tools. Each call finds the gateway again, because `parley up` may have been restarted."""

    def __init__(self, find: Callable[[], GatewayAddress]) -> None:
        self._find = find

    async def start_session(
        self,
        request: Annotated[str, Field(min_length=1, max_length=50_000, description="The user's request, in words.")],
        workflow: Annotated[Workflow | None, Field(description="null: the default.")] = None,
        settings: Annotated[SessionSettings | None, Field(description="null: the defaults.")] = None,
    ) -> SessionState:
        """Start a session with a request. Planning takes a while: call wait next."""
        async with self.parley() as parley:
            session = await parley.start(request, workflow=workflow, settings=settings, time_zone=own_time_zone())
            return state_of(session.id, await session.screen())

    async def read_session(self, session_id: SessionId) -> SessionState:
        """Read a session: plan and code with version and hash, what waits for the user, and the answer."""
        async with self.parley() as parley:
            return state_of(session_id, await parley.session(session_id).screen())

    async def list_sessions(
        self,
        words: Annotated[str, Field(max_length=500, description="Only sessions that contain all of these words.")] = "",
        limit: Annotated[int, Field(ge=1, le=100)] = 20,
    ) -> Sessions:
        """List the user's sessions, newest first."""
        async with self.parley() as parley:
            page = await parley.sessions(words, limit=limit)
        return Sessions(sessions=tuple(SessionItem.of(row) for row in page.sessions), total=page.total)

    async def wait(self, session_id: SessionId, seconds: Annotated[float, Field(ge=0, le=60)] = 30) -> SessionState:
        """Wait until the session needs the user or rests, at most this many seconds; returns its state."""
        async with self.parley() as parley:
            session = parley.session(session_id)
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds), aclosing(session.screens()) as screens:
                    async for screen in screens:
                        state = state_of(session_id, screen)
                        if state.waits_for != "work":
                            return state
            return state_of(session_id, await session.screen())

    async def approve(
        self,
        session_id: SessionId,
        version: Version,
        hash: Hash,  # noqa: A002  the protocol's name
        action_id: Annotated[str | None, Field(description="The action, if actions wait.")] = None,
    ) -> SessionState:
        """Approve exactly this plan, code or action, only after the user has approved it."""
        yes = {"approved": True, "version": version, "hash": hash, "action_id": action_id}
        return await self._send(session_id, type="approval", **yes)

    async def reject(
        self,
        session_id: SessionId,
        version: Version,
        action_id: Annotated[str | None, Field(description="The action, if actions wait.")] = None,
        reason: Annotated[str, Field(max_length=2_000, description="The reason, for an action.")] = "",
    ) -> SessionState:
        """Reject a plan, code or action for the user. For a plan or code, Parley then asks for feedback."""
        no = {"approved": False, "version": version, "action_id": action_id, "reason": reason}
        return await self._send(session_id, type="approval", **no)

    async def feedback(
        self, session_id: SessionId, text: Annotated[str, Field(min_length=1, max_length=50_000)]
    ) -> SessionState:
        """Send feedback on the plan or code in review, or another message: it withdraws nothing that waits or runs."""
        async with self.parley() as parley:
            session = parley.session(session_id)
            view = (await session.screen()).view
            kind = "feedback" if view.review or view.feedback_request else "user_message"
            return state_of(session_id, await session.screen(await session.send(type=kind, content=text)))

    async def answer_question(
        self,
        session_id: SessionId,
        text: Annotated[str, Field(min_length=1, max_length=50_000)],
        more: Annotated[tuple[str, ...], Field(max_length=2, description="The answers to the `further` ones.")] = (),
    ) -> SessionState:
        """Answer the open question with the user's words, and those that follow it, in their order."""
        return await self._send(session_id, type="answer", content=text, more=more)

    async def decide_offer(
        self,
        session_id: SessionId,
        version: Annotated[int, Field(ge=1, description="The version of the offer that the user saw.")],
        take: Annotated[bool, Field(description="true: put it in the place of what is there; false: keep that.")],
    ) -> SessionState:
        """Take the offer or keep what is there, only as the user has decided."""
        return await self._send(session_id, type="take_offer" if take else "keep_offer", version=version)

    async def _send(self, session_id: str, **message: object) -> SessionState:
        async with self.parley() as parley:
            session = parley.session(session_id)
            return state_of(session_id, await session.screen(await session.send(**message)))

    @asynccontextmanager
    async def parley(self) -> AsyncIterator[Parley]:
        """A client for the running gateway. Its errors become ToolError, with their code for programs."""
        gateway = self._find()
        try:
            async with Parley(gateway.url, token=gateway.token, timeout=GATEWAY_TIMEOUT) as parley:
                yield parley
        except ParleyError as error:
            raise ToolError(f"{explain(error)} [{error.code}]") from error


def build_server(find: Callable[[], GatewayAddress]) -> MCPServer:
    """The server, for either transport."""
    server = MCPServer("parley", title="Parley", instructions=INSTRUCTIONS, version=_version(), log_level="WARNING")
    tools = SessionTools(find)
    plans = PlanTools(tools.parley)
    planning = (plans.generate_execution_plan, plans.store_plan, plans.modify_execution_plan)
    deciding = (
        plans.approve_execution_plan,
        plans.execute_plan,
        plans.skip_plan_step,
        plans.cancel_plan,
        plans.delete_plan,
    )
    reading = (plans.get_plan_by_task_id, plans.get_plan_status, plans.list_plans, plans.format_execution_plan)
    by_hints: tuple[tuple[ToolAnnotations, tuple[Callable[..., object], ...]], ...] = (
        (READS, (tools.read_session, tools.list_sessions, tools.wait, *reading)),
        (WRITES, (tools.start_session, tools.reject, tools.feedback, tools.answer_question, *planning)),
        (DECIDES, (tools.approve, tools.decide_offer, *deciding)),
    )
    for hints, functions in by_hints:
        for function in functions:
            server.add_tool(function, annotations=hints)
    return server


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


def _version() -> str:
    try:
        return version("parley")
    except PackageNotFoundError:  # running from a checkout
        return "0"
