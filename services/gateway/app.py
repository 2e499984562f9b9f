"""The gateway's wiring: REST, `/ws` and the page in one ASGI application, and the process that serves it."""

import asyncio
import signal
import socket as tcp
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import structlog
import uvicorn
from fastapi import FastAPI, WebSocket
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp

from parley.protocol.server import Greeting
from services.gateway.access import login_link
from services.gateway.access.auth import ConfigurationError, Door
from services.gateway.access.keys import SESSION_ID, derive
from services.gateway.access.limits import Guesses
from services.gateway.access.login_link import LoginByLink
from services.gateway.access.logouts import Logouts
from services.gateway.access.quota import Quotas
from services.gateway.access.tickets import Tickets
from services.gateway.inbound import MAX_MESSAGE
from services.gateway.late_log import LateLog
from services.gateway.live.audience import Protocol
from services.gateway.live.hub import Hub
from services.gateway.live.socket import Socket
from services.gateway.ports import Bus, Core, Store
from services.gateway.readiness import Readiness
from services.gateway.rest import (
    account,
    artefacts,
    chat,
    dead_letters,
    execution_plans,
    files,
    flows,
    health,
    journal,
    library,
    memories,
    messages,
    metrics,
    plans,
    refusals,
    sessions,
    templates,
    tools,
    usage,
)
from services.gateway.rest.answers import Answers
from services.gateway.rest.bodies import LoginFirst
from services.gateway.rest.models import PROBLEM
from services.gateway.rest.page import PAGE, SafeHeaders, serve_page
from services.gateway.state import Gateway
from services.gateway.transport import ServerConfig
from services.gateway.trouble import AWAY, Trouble
from shared.bus import Bus as NatsBus
from shared.bus.log_format import WrongFormat
from shared.domain.workflows import WORKFLOWS
from shared.environment import keep_files_private
from shared.log import ReplicatedLog
from shared.logging import configure_logging
from shared.sandbox import available
from shared.settings import Settings
from shared.store import Store as NatsStore
from shared.telemetry.running import observed
from shared.watchdog.service import WATCHDOG

STORE_WAIT = 20.0  # seconds that a client waits for plan_store: it may be starting again
REHEARSAL = "rehearsal"
RESOURCES = (
    account,
    sessions,
    messages,
    journal,
    plans,
    execution_plans,
    templates,
    tools,
    artefacts,
    files,
    flows,
    library,
    memories,
    chat,
    usage,
    dead_letters,
    health,
    metrics,
)  # each a module of rest/ with its router

log_ = structlog.get_logger("gateway")


class _Application(FastAPI):
    """With what stands around every answer, that of the handler of last resort too: it is outside of middleware."""

    def build_middleware_stack(self) -> ASGIApp:
        return SafeHeaders(super().build_middleware_stack())

    def openapi(self) -> dict[str, Any]:
        """Refusals in the media type that they have; FastAPI knows only one."""
        schema = super().openapi()
        for path in schema["paths"].values():
            for operation in path.values():
                for status, answer in operation["responses"].items():
                    if status >= "4" and "application/json" in answer.get("content", {}):
                        answer["content"][PROBLEM] = answer["content"].pop("application/json")
        return schema


def build(settings: Settings, bus: Bus, store: Store, log: ReplicatedLog, *, page: Path = PAGE) -> FastAPI:
    """The application. Raises ConfigurationError for settings it must not be started with."""
    id_key = derive(settings.parley_secret.get_secret_value().encode(), SESSION_ID)
    core = Core(bus, store, log, id_key)
    door, guesses, logouts = Door(settings), Guesses(settings), Logouts(bus)
    app = _Application(
        title="Parley",
        description="A planning agent you can argue with. `/ws` speaks the same messages live: see docs/protocol.md.",
        version="1",
        lifespan=_lifespan,
        openapi_url=None,  # FastAPI would write it anew for every stranger who asks
        docs_url=None,
        redoc_url=None,
    )
    for resource in RESOURCES:
        app.include_router(resource.router)
    app.include_router(login_link.router)
    app.add_api_websocket_route("/ws", socket)
    _serve_openapi(app)
    app.add_api_route("/api/{path:path}", refusals.nowhere, methods=refusals.METHODS, include_in_schema=False)
    refusals.install(app)
    app.add_middleware(LoginByLink, door=door, guesses=guesses)
    app.add_middleware(refusals.BodyLimit, limit=MAX_MESSAGE)
    app.add_middleware(Answers)
    app.add_middleware(LoginFirst)
    app.add_middleware(metrics.Measured)
    app.state.gateway = Gateway(
        settings=settings,
        core=core,
        hub=Hub(core),
        door=door,
        tickets=Tickets(door, bus),
        quotas=Quotas(settings),
        guesses=guesses,
        logouts=logouts,
        readiness=Readiness(core),
        greeting=_greeting(settings),
        page=serve_page(app, page),
    )
    return app


def _serve_openapi(app: FastAPI) -> None:
    @cache
    def description() -> bytes:
        return bytes(JSONResponse(app.openapi()).body)

    async def openapi() -> Response:
        return Response(description(), media_type="application/json")

    app.add_api_route("/openapi.json", openapi, include_in_schema=False)


def _greeting(settings: Settings) -> Greeting:
    """What every socket is told first; its session and its user are put in for each."""
    return Greeting(
        session_id="",
        message="What would you like to do? Describe it, and a plan comes back to approve or to argue with.",
        user="",
        rehearsal=settings.openai_model == REHEARSAL,
        model=settings.openai_model,
        workflows=tuple(WORKFLOWS),
        can_run_code=available() is None,
    )


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """NATS may come later: the connection is made in the background, and requests say so until it is there."""
    bus = app.state.gateway.core.bus
    connecting = asyncio.create_task(_connect(app.state.gateway), name="connect to NATS")
    connecting.add_done_callback(_report)
    async with observed("gateway", app.state.gateway.settings):
        yield
        await app.state.gateway.hub.close()
        connecting.cancel()
        with suppress(asyncio.CancelledError):
            await connecting
        await bus.stop()


async def _connect(here: Gateway) -> None:
    await here.core.bus.start()
    await here.logouts.follow()


def _report(connecting: asyncio.Task[None]) -> None:
    if connecting.cancelled() or not (error := connecting.exception()):
        return
    if isinstance(error, WrongFormat):
        log_.critical("wrong_format", reason=str(error))
        signal.raise_signal(signal.SIGTERM)
    else:
        log_.error("cannot_connect", error=repr(error))


async def socket(ws: WebSocket) -> None:
    """`/ws`: refused before it is accepted, or served until it ends."""
    here: Gateway = ws.app.state.gateway
    with ExitStack() as open_:
        try:
            protocol = _protocol(ws)
            login = await here.welcome_socket(ws)
            ended = open_.enter_context(here.logouts.watch(login))
            quota = here.quotas.of(login.user.id)
            open_.enter_context(quota.sockets.one())
        except (Trouble, *AWAY) as error:
            await refusals.slowly(ws, error)
            await ws.send_denial_response(refusals.told(error))
            return
        await ws.accept()
        core = here.core_of(login.user)
        client = Socket(ws, login.user, ended, core=core, hub=here.hub, quota=quota, protocol=protocol)
        await client.serve(here.greeting.model_copy(update={"user": login.user.id, "protocol": protocol}))


def _protocol(ws: WebSocket) -> Protocol:
    """1, or 2 with `?view=2`. Raises Trouble for a view that there is not."""
    match ws.query_params.get("view"):
        case None:
            return 1
        case "2":
            return 2
        case other:
            raise Trouble("not_available", f"There is no view “{other[:40]}”.", "Leave `view` out, or use `view=2`.")


class _Server(uvicorn.Server):
    """Says in the log where it listens, once it does."""

    async def startup(self, sockets: list[tcp.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            host, port = self.servers[0].sockets[0].getsockname()[:2]
            log_.info("ready", url=f"http://{host}:{port}/")


def main() -> None:
    keep_files_private()
    settings = Settings()
    configure_logging("gateway", settings.log_level, settings.secrets)
    bus = NatsBus(settings, "gateway")
    try:
        app = build(settings, bus, NatsStore(bus, wait=STORE_WAIT), LateLog(bus))
    except ConfigurationError as error:
        sys.exit(str(error))
    config = ServerConfig(
        app,
        settings,
        host=settings.agent_host,
        port=settings.agent_port,
        log_level="warning",
        timeout_graceful_shutdown=int(settings.graceful_timeout),
    )
    with WATCHDOG.started("gateway", settings):
        _Server(config).run()


if __name__ == "__main__":
    main()
