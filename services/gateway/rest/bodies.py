"""Requests with a body: who sends it is known before a byte of it is read, and it is read as messages of `/ws` are."""

from collections.abc import Callable, Coroutine
from typing import Any

from fastapi import Request, Response
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Receive, Scope, Send

from services.gateway.inbound import read_json
from services.gateway.rest.refusals import answer, slowly
from services.gateway.state import authenticate
from services.gateway.trouble import Trouble

API = "/api/"


class LoginFirst:
    """Everything under /api/ is for those who have logged in: all others learn that, and nothing else."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"].startswith(API):
            request = Request(scope)
            try:
                request.state.login = authenticate(request)
            except Trouble as trouble:
                await slowly(request, trouble)
                await answer(trouble)(scope, receive, send)
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
        except Trouble as trouble:
            raise HTTPException(trouble.status) from trouble  # the framework lets only this one through
