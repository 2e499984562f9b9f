"""`parley mcp`: Parley as an MCP server, so that an assistant can start sessions, read plans, and carry decisions over.

It is a client of the running gateway like any other: what it says is what the gateway says. stdout is the protocol's.
"""

import asyncio
import hmac
import signal
import sys
import uuid
from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated, Any
from urllib.parse import urlsplit

import httpx2
import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field, ValidationError
from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from cli.chat.run import Gateway, find_gateway
from cli.client import Client, GatewayDown, is_near
from cli.mcp_state import Sessions, SessionState, Summary, is_due, state_of
from cli.ports import is_free, who_listens
from cli.running import Declined
from shared.events.values import SessionSettings, Workflow
from shared.protocol import server as s
from shared.settings import Settings
from shared.store_api import SessionPage

INSTRUCTIONS = """Parley plans with a person before anything is done. Start a session with a request, wait, and show the
person what waits for them: a plan, code, actions or a question. Approve only what the person has approved, with the
version and hash that they saw; what they want otherwise goes back as feedback. Wait again until there is an answer."""
PAUSES = (0.5, 2.0)  # seconds before a message that may not have arrived is sent again, with the same id
TELL_AGAIN = (429, 503)
HOST = "127.0.0.1"
READS = ToolAnnotations(read_only_hint=True)
WRITES = ToolAnnotations(read_only_hint=False, destructive_hint=False)
DECIDES = ToolAnnotations(read_only_hint=False, destructive_hint=True)  # a host should ask its person first

SessionId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$", description="The session's id.")]
Version = Annotated[int, Field(ge=1, description="The version of what is decided about, as read_session told it.")]
Hash = Annotated[str, Field(min_length=1, description="Its hash, as read_session told it.")]


class Desk:
    """What the tools do, over the gateway's REST and, to wait, its WebSocket. The gateway is looked for each time:
    another `parley up` may run by then."""

    def __init__(self, find: Callable[[], Gateway]) -> None:
        self._find = find

    async def start_session(
        self,
        request: Annotated[str, Field(min_length=1, max_length=50_000, description="What the person wants, in words.")],
        workflow: Annotated[Workflow | None, Field(description="None: the usual one.")] = None,
        settings: Annotated[SessionSettings | None, Field(description="None: the usual ones.")] = None,
    ) -> SessionState:
        """Begin a session with a request. Planning takes a while: call wait next."""
        chosen = settings.model_dump(mode="json", exclude_unset=True) if settings else None
        body = {"request": request, "workflow": workflow, "settings": chosen, "id": uuid.uuid4().hex}
        answer = await self._asks("POST", "/api/sessions", json={k: v for k, v in body.items() if v is not None})
        return await self.read_session(answer.json()["session_id"])

    async def read_session(self, session_id: SessionId) -> SessionState:
        """Where a session stands: plan and code with version and hash, what waits for the person, and the answer."""
        answer = await self._asks("GET", f"/api/sessions/{session_id}")
        return state_of(_read(s.Snapshot, answer))

    async def list_sessions(
        self,
        words: Annotated[str, Field(max_length=500, description="Only those with all of these words.")] = "",
        limit: Annotated[int, Field(ge=1, le=100)] = 20,
    ) -> Sessions:
        """The person's sessions, newest first."""
        page = _read(SessionPage, await self._asks("GET", "/api/sessions", params={"q": words, "limit": limit}))
        return Sessions(sessions=tuple(Summary.of(one) for one in page.sessions), total=page.total)

    async def wait(self, session_id: SessionId, seconds: Annotated[float, Field(ge=0, le=60)] = 30) -> SessionState:
        """Wait until a person is due or the session rests, at most so many seconds; where it stands then."""
        state = await self.read_session(session_id)
        if is_due(state):
            return state
        gateway = self._find()
        try:
            async with (
                asyncio.timeout(seconds),
                Client(gateway.url, token=gateway.token, session_id=session_id, after=state.version) as socket,
            ):
                async for message in socket.messages():
                    if isinstance(message, s.Event | s.Snapshot) and is_due(
                        state := await self.read_session(session_id)
                    ):
                        return state
        except TimeoutError:
            return await self.read_session(session_id)
        except GatewayDown as down:
            raise ToolError(str(down)) from down
        return state

    async def approve(
        self,
        session_id: SessionId,
        version: Version,
        hash: Hash,  # noqa: A002  as the protocol calls it
        action_id: Annotated[str | None, Field(description="Which action, where actions wait.")] = None,
    ) -> SessionState:
        """Carry over the person's yes to exactly this plan, code or action. Only after they have given it."""
        yes = {"approved": True, "version": version, "hash": hash, "action_id": action_id}
        return await self._says(session_id, "approval", yes)

    async def reject(
        self,
        session_id: SessionId,
        version: Version,
        action_id: Annotated[str | None, Field(description="Which action, where actions wait.")] = None,
        reason: Annotated[str, Field(max_length=2_000, description="Why, for an action.")] = "",
    ) -> SessionState:
        """Carry over the person's no. After that to a plan or code, Parley asks for feedback."""
        no = {"approved": False, "version": version, "action_id": action_id, "reason": reason}
        return await self._says(session_id, "approval", no)

    async def feedback(
        self, session_id: SessionId, text: Annotated[str, Field(min_length=1, max_length=50_000)]
    ) -> SessionState:
        """Say what should be different about the plan or code in review, or a word during work."""
        return await self._says(session_id, "feedback", {"content": text})

    async def answer_question(
        self, session_id: SessionId, text: Annotated[str, Field(min_length=1, max_length=50_000)]
    ) -> SessionState:
        """Answer the open question with the person's words."""
        return await self._says(session_id, "answer", {"content": text})

    async def _says(self, session_id: str, kind: str, fields: Mapping[str, object]) -> SessionState:
        body = {name: value for name, value in fields.items() if value is not None}
        message = {"type": kind, "id": uuid.uuid4().hex} | body
        await self._asks("POST", f"/api/sessions/{session_id}/messages", json=message)
        return await self.read_session(session_id)

    async def _asks(self, method: str, path: str, **options: Any) -> httpx2.Response:
        """The gateway's answer. Safe to repeat: what changes something carries an id. Raises ToolError."""
        for pause in (*PAUSES, None):
            try:
                answer = await self._once(method, path, **options)
            except httpx2.TransportError as error:
                if pause is None:
                    raise ToolError(_nobody(self._find().url, error)) from error
            else:
                if answer.status_code < 400:
                    return answer
                if pause is None or answer.status_code not in TELL_AGAIN:
                    raise ToolError(_refusal(answer))
            await asyncio.sleep(pause)
        raise AssertionError("unreachable")

    async def _once(self, method: str, path: str, **options: Any) -> httpx2.Response:
        gateway = self._find()
        place = urlsplit(gateway.url)
        base = f"{'https' if place.scheme == 'wss' else 'http'}://{place.netloc}"
        headers = {"Authorization": f"Bearer {gateway.token}"} if gateway.token else {}
        async with httpx2.AsyncClient(base_url=base, headers=headers, trust_env=not is_near(gateway.url)) as http:
            return await http.request(method, path, **options)


def build(find: Callable[[], Gateway]) -> MCPServer:
    """The server over whatever transport."""
    server = MCPServer("parley", title="Parley", instructions=INSTRUCTIONS, version=_version(), log_level="WARNING")
    desk = Desk(find)
    for hints, functions in (
        (READS, (desk.read_session, desk.list_sessions, desk.wait)),
        (WRITES, (desk.start_session, desk.reject, desk.feedback, desk.answer_question)),
        (DECIDES, (desk.approve,)),
    ):
        for function in functions:
            server.add_tool(function, annotations=hints)
    return server


async def serve(settings: Settings, *, url: str = "", port: int | None = None) -> int:
    """Over stdio until stdin ends; or, with a port, over streamable HTTP on this machine until a signal.

    Raises Declined for a port that is not free.
    """

    def find() -> Gateway:
        return find_gateway(settings, url)

    server = build(find)
    if port is None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # a thread waits for stdin: only the process can be interrupted
        await server.run_stdio_async()
        return 0
    if not is_free(HOST, port):
        raise Declined(f"Port {port} is in use ({who_listens(port) or 'by somebody else'}): give another one.")
    token = " (clients send Authorization: Bearer and the gateway's token)" if find().token else ""
    print(f"parley mcp: http://{HOST}:{port}/mcp{token}", file=sys.stderr, flush=True)
    app = Guard(server.streamable_http_app(), lambda: find().token)
    config = uvicorn.Config(app, host=HOST, port=port, log_config=None, access_log=False, lifespan="on")
    await uvicorn.Server(config).serve()
    return 0


class Guard:
    """Over HTTP whoever reaches the port would act as the person: they show the gateway's own token, if it has one."""

    def __init__(self, app: ASGIApp, token: Callable[[], str]) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and (token := self._token()):
            given = Headers(scope=scope).get("authorization", "").removeprefix("Bearer ")
            if not hmac.compare_digest(given.encode(), token.encode()):
                words = "Send the gateway's token: Authorization: Bearer …"
                await PlainTextResponse(words, 401, {"WWW-Authenticate": "Bearer"})(scope, receive, send)
                return
        await self._app(scope, receive, send)


def _read[M: BaseModel](kind: type[M], answer: httpx2.Response) -> M:
    try:
        return kind.model_validate_json(answer.content)
    except ValidationError as error:
        raise ToolError("The gateway is of another version: run this one's `parley up`.") from error


def _refusal(answer: httpx2.Response) -> str:
    """The gateway's own words, with its code for programs."""
    try:
        found = answer.json()
        words = " ".join(part for part in (found["message"], found.get("hint")) if part)
        return f"{words} [{found['code']}]"
    except (ValueError, KeyError, TypeError):
        return f"The gateway answered with HTTP {answer.status_code}. `parley doctor` says more."


def _nobody(url: str, error: Exception) -> str:
    return f"No gateway answers at {url} ({type(error).__name__}). Start Parley with `parley up`, or give --url."


def _version() -> str:
    try:
        return version("parley")
    except PackageNotFoundError:  # run from its folder
        return "0"
