"""Refusals over HTTP: one shape for all of them, as `models.Problem`."""

import asyncio
from collections.abc import Mapping

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import iter_route_contexts
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.gateway.access.quota import Quota
from services.gateway.inbound import explained
from services.gateway.rest.models import PROBLEM, Problem
from services.gateway.trouble import AWAY, FAILED, Trouble, as_trouble
from shared.domain.errors import Refused
from shared.log import Unstorable, UpgradeNeeded

METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"]
REFUSALS: dict[int | str, dict[str, object]] = {
    status: {"model": Problem, "description": description}
    for status, description in {
        401: "Not logged in",
        403: "Not yours, or from a foreign page",
        404: "There is no such thing",
        409: "The session does not allow it now",
        413: "Too large",
        422: "It could never be right",
        429: "Too many requests of yours, or failed logins from your address",
        501: "Not available yet",
        503: "The bus or the store is away",
    }.items()
}
CODES = {404: "not_found", 405: "not_available", 413: "too_large"}


def install(app: FastAPI) -> None:
    for kind in (Trouble, Refused, Unstorable, UpgradeNeeded, *AWAY):
        app.add_exception_handler(kind, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(Exception, _refused)  # the server logs it as well: nothing of it is told


def told(error: Exception) -> JSONResponse:
    """Any failure, as a client should see it."""
    return answer(as_trouble(error) or Trouble("failed", FAILED))


def answer(trouble: Trouble) -> JSONResponse:
    headers = {"WWW-Authenticate": "Bearer"} if trouble.status == 401 else {}
    if trouble.retry_after is not None:
        headers["Retry-After"] = str(trouble.retry_after)
    return _sent(Problem.of(trouble), headers)


def _sent(body: Problem, headers: Mapping[str, str] | None = None) -> JSONResponse:
    return JSONResponse(body.model_dump(), status_code=body.status, headers=headers, media_type=PROBLEM)


async def _refused(request: Request, error: Exception) -> JSONResponse:
    await slowly(request, error)
    return told(error)


async def slowly(connection: HTTPConnection, error: Exception) -> None:
    """Until a user who goes too fast may be told so."""
    quota: Quota | None = getattr(connection.state, "quota", None)
    if quota and isinstance(error, Trouble) and error.code == "slow_down":
        await asyncio.sleep(quota.hold_back())


async def _invalid(request: Request, error: Exception) -> JSONResponse:
    """Also a field that is too long is a matter of the field: 413 is for the body."""
    problems = error.errors() if isinstance(error, RequestValidationError) else ()
    return _sent(Problem.of(explained(problems), 422))


async def _http_error(request: Request, error: Exception) -> JSONResponse:
    """What the framework itself refuses: no such path, another method, too large a body."""
    if isinstance(error.__cause__, Trouble):
        return told(error.__cause__)
    status = error.status_code if isinstance(error, HTTPException) else 500
    detail = str(error.detail) if isinstance(error, HTTPException) else "failed"
    headers = error.headers if isinstance(error, HTTPException) else None  # which methods there are
    return _sent(Problem.of(Trouble(CODES.get(status, "refused"), detail), status), headers)


class BodyLimit:
    """No request body grows over `limit` bytes, whatever it says about its length."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app, self._limit = app, limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        length = Headers(scope=scope).get("content-length", "")
        if length.isdecimal() and int(length) > self._limit:
            trouble = Trouble("too_large", f"A body may have {self._limit // 1024} KiB at most.", "Make it shorter.")
            await answer(trouble)(scope, receive, send)
            return
        read = 0

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > self._limit:
                raise HTTPException(413, f"A body may have {self._limit // 1024} KiB at most.")
            return message

        await self._app(scope, counted, send)


async def nowhere(path: str, request: Request) -> None:
    """Whatever else is asked under /api: the page must not answer there."""
    if methods := _methods_of(request):
        words = f"{request.method} cannot be done with /api/{path}, only {', '.join(methods)}."
        raise HTTPException(405, words, headers={"Allow": ", ".join(methods)})
    raise Trouble("not_found", f"There is no /api/{path}.", "/openapi.json lists what there is.")


def _methods_of(request: Request) -> list[str]:
    """What can be done with this path, if there is any such path."""
    found: set[str] = set()
    for route in iter_route_contexts(request.app.routes):
        if route.path and route.endpoint is not nowhere and compile_path(route.path)[0].match(request.url.path):
            found |= set(route.methods or ())
    return sorted(found)
