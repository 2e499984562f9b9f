"""/metrics, and what the gateway counts: requests by route, sockets and their messages."""

import time
from hmac import compare_digest

from fastapi import APIRouter, Request, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.gateway.state import Here, authenticate, bearer
from services.gateway.trouble import Trouble
from shared.telemetry import metrics

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
OTHER = "other"

router = APIRouter()


@router.get("/metrics", include_in_schema=False)
async def figures(request: Request, here: Here) -> Response:
    """For Prometheus, with the token of PARLEY_METRICS_TOKEN, and for the operator: they tell of everybody's work."""
    wanted = here.settings.parley_metrics_token.get_secret_value()
    scrapes = wanted and compare_digest(bearer(request).encode(), wanted.encode())
    if not (scrapes or authenticate(request).user.everything):
        hint = "Send PARLEY_METRICS_TOKEN as Authorization: Bearer."
        raise Trouble("forbidden", "These figures tell of everybody: only the operator sees them.", hint)
    return Response(metrics.exposition(), media_type=metrics.CONTENT_TYPE)


class Measured:
    """Around the whole application: every request and every socket, by names known beforehand."""

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

        async def noticed(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = str(message["status"])
            await send(message)

        try:
            await self._app(scope, receive, noticed)
        finally:
            method = scope["method"] if scope["method"] in METHODS else OTHER
            metrics.HTTP.labels(method, _route(scope), status).observe(time.perf_counter() - began)

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_open = False

        async def heard() -> Message:
            message = await receive()
            if message["type"] == "websocket.receive":
                metrics.WEBSOCKET_MESSAGES.labels("in").inc()
            return message

        async def told(message: Message) -> None:
            nonlocal is_open
            await send(message)
            if message["type"] == "websocket.send":
                metrics.WEBSOCKET_MESSAGES.labels("out").inc()
            elif message["type"] == "websocket.accept":
                is_open = True
                metrics.WEBSOCKETS.inc()

        try:
            await self._app(scope, heard, told)
        finally:
            if is_open:
                metrics.WEBSOCKETS.dec()


def _route(scope: Scope) -> str:
    """The template of the route that answered; of what is no route, as the page's files, none."""
    return getattr(scope.get("route"), "path", None) or OTHER
