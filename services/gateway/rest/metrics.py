"""Probes, /metrics, and the gateway's own metrics: requests by route, sockets and their messages."""

import time
from hmac import compare_digest

from fastapi import APIRouter, Request, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.gateway.api_errors import ApiError
from services.gateway.readiness import REQUIRED
from services.gateway.rest.models import Alive, Readiness
from services.gateway.state import GatewayDep, authenticate, bearer_token
from shared.telemetry import metrics

KNOWN_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
OTHER_LABEL = "other"

router = APIRouter()


@router.get("/healthz")
async def alive() -> Alive:
    """The process is alive. Its dependencies may not be."""
    return Alive()


@router.get("/readyz", responses={503: {"model": Readiness}})
async def ready(gateway: GatewayDep, response: Response) -> Readiness:
    """Whether the gateway, NATS and plan_store work. Also lists silent workers, and a page that is not built."""
    checks = await gateway.readiness.checks()
    is_ready = all(checks[name] == "ok" for name in REQUIRED)
    response.status_code = 200 if is_ready else 503
    return Readiness(ready=is_ready, checks=checks | {"page": gateway.page})


@router.get("/metrics", include_in_schema=False)
async def prometheus_metrics(request: Request, gateway: GatewayDep) -> Response:
    """Metrics for Prometheus, which sends PARLEY_METRICS_TOKEN, and for the operator: they cover all users."""
    token = gateway.settings.parley_metrics_token.get_secret_value()
    is_scraper = token and compare_digest(bearer_token(request).encode(), token.encode())
    if not (is_scraper or authenticate(request).user.is_operator):
        hint = "Send PARLEY_METRICS_TOKEN as Authorization: Bearer."
        raise ApiError("forbidden", "These metrics cover all users: only the operator may see them.", hint)
    return Response(metrics.exposition(), media_type=metrics.CONTENT_TYPE)


class MetricsMiddleware:
    """ASGI middleware that measures requests and sockets, with a bounded set of labels."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        match scope["type"]:
            case "http":
                await self._request(scope, receive, send)
            case "websocket":
                await self._socket(scope, receive, send)
            case _:
                await self._app(scope, receive, send)

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        began, status = time.perf_counter(), "500"

        async def send_noting_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        try:
            await self._app(scope, receive, send_noting_status)
        finally:
            method = scope["method"] if scope["method"] in KNOWN_METHODS else OTHER_LABEL
            metrics.HTTP.labels(method, _route_template(scope), status).observe(time.perf_counter() - began)

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_open = False

        async def receive_counted() -> Message:
            message = await receive()
            if message["type"] == "websocket.receive":
                metrics.WEBSOCKET_MESSAGES.labels("in").inc()
            return message

        async def send_counted(message: Message) -> None:
            nonlocal is_open
            await send(message)
            if message["type"] == "websocket.send":
                metrics.WEBSOCKET_MESSAGES.labels("out").inc()
            elif message["type"] == "websocket.accept":
                is_open = True
                metrics.WEBSOCKETS.inc()

        try:
            await self._app(scope, receive_counted, send_counted)
        finally:
            if is_open:
                metrics.WEBSOCKETS.dec()


def _route_template(scope: Scope) -> str:
    """The path template of the route; "other" for anything else, such as the page's files."""
    return getattr(scope.get("route"), "path", None) or OTHER_LABEL
