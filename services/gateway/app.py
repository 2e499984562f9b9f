"""The gateway's wiring: REST, `/ws` and the page in one ASGI application, and the process that serves it."""

import asyncio
import signal
import socket as tcp
import sys
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import structlog
import uvicorn
from fastapi import FastAPI, WebSocket
from starlette.types import ASGIApp

from parley.protocol.bounds import MAX_MESSAGE_BYTES
from parley.protocol.server import Greeting
from services.gateway.access import login_link
from services.gateway.access.auth import SESSION_ID, Authenticator, ConfigurationError, Tickets, derive_key
from services.gateway.access.login_link import LoginByLink
from services.gateway.access.logouts import Logouts
from services.gateway.access.origins import RemoveRootPath
from services.gateway.access.quota import LoginThrottle, Quotas
from services.gateway.api_errors import UNAVAILABLE, ApiError
from services.gateway.live.audience import Protocol
from services.gateway.live.http_protocol import UvicornConfig
from services.gateway.live.hub import Hub
from services.gateway.live.socket import SocketConnection
from services.gateway.ports import Core, GatewayBus
from services.gateway.readiness import ReadinessChecker
from services.gateway.rest import (
    account,
    execution_plans,
    files,
    flows,
    metrics,
    records,
    references,
    requests,
    sessions,
    templates,
    tools,
)
from services.gateway.rest.models import PROBLEM_MEDIA_TYPE
from services.gateway.rest.page import PAGE, SafeHeaders, serve_page
from services.gateway.rest.requests import RequireLogin, ResponseBackpressure
from services.gateway.state import Gateway
from shared.bus import Bus as NatsBus
from shared.bus.log_format import WrongFormat
from shared.domain.workflows import WORKFLOWS
from shared.environment import keep_files_private
from shared.log import ReplicatedLog
from shared.logging import configure_logging
from shared.sandbox import available
from shared.settings import Settings
from shared.store import PlanStoreClient as NatsStore
from shared.store import StoreReader
from shared.telemetry.lifecycle import telemetry
from shared.watchdog import watchdog

STORE_WAIT = 20.0  # seconds that a request waits for plan_store, which may be restarting
REHEARSAL = "rehearsal"
RESOURCES = (
    account,
    sessions,
    execution_plans,
    templates,
    tools,
    files,
    flows,
    records,
    metrics,
)  # each a module of rest/ with its router

log_ = structlog.get_logger("gateway")


class _Application(FastAPI):
    """Adds the security headers to every response, also to that of the last-resort error handler."""

    def build_middleware_stack(self) -> ASGIApp:
        root_path = self.state.gateway.settings.agent_root_path
        return RemoveRootPath(SafeHeaders(super().build_middleware_stack()), root_path)

    def openapi(self) -> dict[str, Any]:
        """Errors are documented with their own media type; FastAPI knows only JSON."""
        schema = super().openapi()
        for path in schema["paths"].values():
            for operation in path.values():
                for status, answer in operation["responses"].items():
                    if status >= "4" and "application/json" in answer.get("content", {}):
                        answer["content"][PROBLEM_MEDIA_TYPE] = answer["content"].pop("application/json")
        return schema


def build(settings: Settings, bus: GatewayBus, store: StoreReader, log: ReplicatedLog, *, page: Path = PAGE) -> FastAPI:
    """The application. Raises ConfigurationError for settings that it must not start with."""
    id_key = derive_key(settings.parley_secret.get_secret_value().encode(), SESSION_ID)
    core = Core(bus, store, log, id_key)
    authenticator, login_throttle, logouts = Authenticator(settings), LoginThrottle(settings), Logouts(bus)
    app = _Application(
        title="Parley",
        description="A planning agent you can argue with. `/ws` speaks the same messages live: see docs/protocol.md.",
        version="1",
        servers=[{"url": ".", "description": "where this description is served"}],
        lifespan=_lifespan,
        openapi_url=None,  # FastAPI would generate it for every request; see references
        docs_url=None,
        redoc_url=None,
    )
    for resource in RESOURCES:
        app.include_router(resource.router)
    app.include_router(login_link.router)
    app.add_api_websocket_route("/ws", socket)
    references.serve_references(app)
    app.add_api_route("/api/{path:path}", requests.unknown_path, methods=requests.API_METHODS, include_in_schema=False)
    requests.install_handlers(app)
    app.add_middleware(LoginByLink, authenticator=authenticator, login_throttle=login_throttle)
    app.add_middleware(requests.BodyLimit, limit=MAX_MESSAGE_BYTES)
    app.add_middleware(ResponseBackpressure)
    app.add_middleware(RequireLogin)
    app.add_middleware(metrics.MetricsMiddleware)
    app.state.gateway = Gateway(
        settings=settings,
        core=core,
        hub=Hub(core),
        authenticator=authenticator,
        tickets=Tickets(authenticator, bus),
        quotas=Quotas(settings),
        login_throttle=login_throttle,
        logouts=logouts,
        readiness=ReadinessChecker(core),
        greeting=_greeting(settings),
        page=serve_page(app, page),
    )
    return app


def _greeting(settings: Settings) -> Greeting:
    """The first message of every socket; session and user are filled in per socket."""
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
    """Connect to NATS in the background: it may start later, and requests fail with `unavailable` until then."""
    bus = app.state.gateway.core.bus
    connecting = asyncio.create_task(_connect(app.state.gateway), name="connect to NATS")
    connecting.add_done_callback(_log_connect_error)
    async with telemetry("gateway", app.state.gateway.settings):
        yield
        await app.state.gateway.hub.close()
        connecting.cancel()
        with suppress(asyncio.CancelledError):
            await connecting
        await bus.stop()


async def _connect(gateway: Gateway) -> None:
    await gateway.core.bus.start()
    await gateway.logouts.follow()


def _log_connect_error(connecting: asyncio.Task[None]) -> None:
    if connecting.cancelled() or not (error := connecting.exception()):
        return
    if isinstance(error, WrongFormat):
        log_.critical("wrong_format", reason=str(error))
        signal.raise_signal(signal.SIGTERM)
    else:
        log_.error("cannot_connect", error=repr(error))


async def socket(ws: WebSocket) -> None:
    """`/ws`: refuse the handshake, or serve the socket until it ends."""
    gateway: Gateway = ws.app.state.gateway
    with ExitStack() as exit_stack:
        try:
            protocol = _requested_protocol(ws)
            login = await gateway.authenticate_socket(ws)
            ended = exit_stack.enter_context(gateway.logouts.watch(login))
            quota = gateway.quotas.for_user(login.user.id)
            exit_stack.enter_context(quota.sockets.slot())
        except (ApiError, *UNAVAILABLE) as error:
            await requests.delay_refusal(ws, error)
            await ws.send_denial_response(requests.error_response(error))
            return
        await ws.accept()
        core = gateway.core_for(login.user)
        client = SocketConnection(ws, login.user, ended, core=core, hub=gateway.hub, quota=quota, protocol=protocol)
        await client.serve(gateway.greeting.model_copy(update={"user": login.user.id, "protocol": protocol}))


def _requested_protocol(ws: WebSocket) -> Protocol:
    """1, or 2 with `?view=2`. Raises ApiError for an unknown view."""
    match ws.query_params.get("view"):
        case None:
            return 1
        case "2":
            return 2
        case other:
            raise ApiError("not_available", f"There is no view “{other[:40]}”.", "Leave `view` out, or use `view=2`.")


class _Server(uvicorn.Server):
    """Logs the URL once the server listens. The watchdog ends it if its event loop is blocked."""

    def __init__(self, config: uvicorn.Config, settings: Settings) -> None:
        super().__init__(config)
        self._settings = settings

    async def serve(self, sockets: list[tcp.socket] | None = None) -> None:
        async with watchdog(self._settings.watchdog_timeout):
            await super().serve(sockets)

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
        app = build(settings, bus, NatsStore(bus, wait=STORE_WAIT), bus.log)
    except ConfigurationError as error:
        sys.exit(str(error))
    config = UvicornConfig(
        app,
        settings,
        host=settings.agent_host,
        port=settings.agent_port,
        log_level="warning",
        timeout_graceful_shutdown=int(settings.graceful_timeout),
    )
    _Server(config, settings).run()


if __name__ == "__main__":
    main()
