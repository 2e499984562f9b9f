"""What all routes share: a login before the body is read, strict JSON, and errors as `models.ProblemDetails`."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute, iter_route_contexts
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.gateway.access.quota import MESSAGE_BYTES, Quota
from services.gateway.api_errors import FAILED_MESSAGE, UNAVAILABLE, ApiError, as_api_error
from services.gateway.messages.parsing import read_json, validation_error
from services.gateway.rest.models import PROBLEM_MEDIA_TYPE, ProblemDetails
from services.gateway.state import authenticate
from shared.domain.kernel.errors import CommandRefused
from shared.log import Unstorable, UpgradeNeeded

API_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
ERROR_RESPONSES: dict[int | str, dict[str, object]] = {
    status: {"model": ProblemDetails, "description": description}
    for status, description in {
        401: "Not logged in",
        403: "Not yours, or from a foreign page",
        404: "There is no such thing",
        409: "The session does not allow it now",
        413: "Too large",
        422: "It could never be right",
        429: "Too many requests of yours, or failed logins from your address",
        501: "Not available yet",
        503: "The bus or plan_store is unavailable",
    }.items()
}
STATUS_CODES = {404: "not_found", 405: "not_available", 413: "too_large"}
API_PREFIX = "/api/"


def install_handlers(app: FastAPI) -> None:
    for kind in (ApiError, CommandRefused, Unstorable, UpgradeNeeded, *UNAVAILABLE):
        app.add_exception_handler(kind, _handle_error)
    app.add_exception_handler(RequestValidationError, _handle_validation_error)
    app.add_exception_handler(HTTPException, _handle_http_error)
    app.add_exception_handler(Exception, _handle_error)  # the server also logs it; the response has no details


def error_response(error: Exception) -> JSONResponse:
    """The response for any exception."""
    return problem_response(as_api_error(error) or ApiError("failed", FAILED_MESSAGE))


def problem_response(error: ApiError) -> JSONResponse:
    headers = {"WWW-Authenticate": "Bearer"} if error.status == 401 else {}
    if error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    return _json_response(ProblemDetails.of(error), headers)


def _json_response(body: ProblemDetails, headers: Mapping[str, str] | None = None) -> JSONResponse:
    return JSONResponse(body.model_dump(), status_code=body.status, headers=headers, media_type=PROBLEM_MEDIA_TYPE)


async def _handle_error(request: Request, error: Exception) -> JSONResponse:
    await delay_refusal(request, error)
    return error_response(error)


async def delay_refusal(connection: HTTPConnection, error: Exception) -> None:
    """Delay a `slow_down` refusal, so that refusals are not cheap to provoke."""
    quota: Quota | None = getattr(connection.state, "quota", None)
    if quota and isinstance(error, ApiError) and error.code == "slow_down":
        await asyncio.sleep(quota.next_refusal_delay())


async def _handle_validation_error(request: Request, error: Exception) -> JSONResponse:
    """Always 422, also for a field that is too long: 413 is for the body."""
    problems = error.errors() if isinstance(error, RequestValidationError) else ()
    return _json_response(ProblemDetails.of(validation_error(problems), 422))


async def _handle_http_error(request: Request, error: Exception) -> JSONResponse:
    """Errors of the framework: unknown path, wrong method, body too large."""
    if isinstance(error.__cause__, ApiError):
        return error_response(error.__cause__)
    status = error.status_code if isinstance(error, HTTPException) else 500
    detail = str(error.detail) if isinstance(error, HTTPException) else "failed"
    headers = error.headers if isinstance(error, HTTPException) else None  # e.g. Allow
    return _json_response(ProblemDetails.of(ApiError(STATUS_CODES.get(status, "refused"), detail), status), headers)


class BodyLimit:
    """ASGI middleware: no request body exceeds `limit` bytes, whatever its Content-Length says."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app, self._limit = app, limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        length = Headers(scope=scope).get("content-length", "")
        if length.isdecimal() and int(length) > self._limit:
            error = ApiError("too_large", f"A body may have {self._limit // 1024} KiB at most.", "Make it shorter.")
            await problem_response(error)(scope, receive, send)
            return
        read = 0

        async def receive_limited() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self._limit:
                raise HTTPException(413, f"A body may have {self._limit // 1024} KiB at most.")
            return message

        await self._app(scope, receive_limited, send)


async def unknown_path(path: str, request: Request) -> None:
    """404 or 405 for other paths under /api, where the page must not be served."""
    if methods := _allowed_methods(request):
        words = f"{request.method} cannot be done with /api/{path}, only {', '.join(methods)}."
        raise HTTPException(405, words, headers={"Allow": ", ".join(methods)})
    raise ApiError("not_found", f"There is no /api/{path}.", "/openapi.json lists what there is.")


def _allowed_methods(request: Request) -> list[str]:
    """The methods that this path allows; empty if there is no such path."""
    methods: set[str] = set()
    for route in iter_route_contexts(request.app.routes):
        if route.path and route.endpoint is not unknown_path and compile_path(route.path)[0].match(request.url.path):
            methods |= set(route.methods or ())
    return sorted(methods)


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


class ResponseBackpressure:
    """ASGI middleware: sends a response in parts, as the server waits for a slow client before each part."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        response = _MeteredResponse(send)

        async def metered_send(message: Message) -> None:
            if message["type"] == "http.response.start":
                await response.start(message, scope, receive)
            else:
                await response.send_body(message)

        try:
            await self._app(scope, receive, metered_send)
        finally:
            response.overflow()


class _MeteredResponse:
    """One response. A large one of a known user is a SendBuffer of their quota."""

    def __init__(self, send: Send) -> None:
        self.size = 0
        self._send = send
        self._quota: Quota | None = None
        self._dropped = False

    async def start(self, message: Message, scope: Scope, receive: Receive) -> None:
        size = int(Headers(raw=message["headers"]).get("content-length", 0))
        quota: Quota | None = scope.get("state", {}).get("quota")
        if quota is None:
            await self._send(message)
            return
        quota.charge_response(size)
        try:
            if size > MESSAGE_BYTES:
                quota.check_may_buffer(size)
                self.size, self._quota = size, quota
                quota.add_unread(self, size)
        except ApiError as error:
            self._dropped = True
            await problem_response(error)(scope, receive, self._send)
        else:
            await self._send(message)

    async def send_body(self, message: Message) -> None:
        body, more = message.get("body", b""), message.get("more_body", False)
        for start in range(0, len(body) - MESSAGE_BYTES, MESSAGE_BYTES):
            if not self._dropped:
                part = body[start : start + MESSAGE_BYTES]
                await self._send({"type": "http.response.body", "body": part, "more_body": True})
        last = (len(body) - 1) // MESSAGE_BYTES * MESSAGE_BYTES if body else 0
        if not self._dropped:
            await self._send({"type": "http.response.body", "body": body[last:], "more_body": more})

    def overflow(self) -> None:
        """Stop sending the response, and stop counting it."""
        self._dropped = True
        size, self.size = self.size, 0
        if self._quota:
            self._quota.remove_unread(self, size)
