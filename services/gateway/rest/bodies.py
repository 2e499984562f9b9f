"""Request bodies: read only after authentication, and as strictly as messages of `/ws`."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from services.gateway.api_errors import ApiError
from services.gateway.parsing import read_json
from services.gateway.rest.error_responses import delay_refusal, problem_response
from services.gateway.state import authenticate

API_PREFIX = "/api/"


class RequireLogin:
    """ASGI middleware that requires a login under /api/, before the body is read or a route is matched."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(API_PREFIX):
            request = Request(scope)
            try:
                request.state.login = authenticate(request)
            except ApiError as error:
                await delay_refusal(request, error)
                await problem_response(error)(scope, receive, send)
                return
        await self._app(scope, receive, send)


class JsonRoute(APIRoute):
    """A route whose body is strict JSON."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def read_strictly(request: Request) -> Response:
            return await handle(_StrictRequest(request.scope, request.receive))

        return read_strictly


class _StrictRequest(Request):
    async def json(self) -> Any:
        body = await self.body()
        try:
            return read_json(body)
        except ApiError as error:
            raise HTTPException(error.status) from error  # FastAPI passes only this exception through
