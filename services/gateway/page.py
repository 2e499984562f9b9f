"""The page, and what stands around every answer: login by URL, and headers that keep a browser safe."""

from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.gateway.auth import COOKIE_DAYS, Door

PAGE = Path(__file__).parent / "page"
NOT_BUILT = "not built: run `make page`"
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
}
PLAIN = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Parley</title>
<body style="font: 16px/1.5 system-ui; max-width: 40rem; margin: 4rem auto; padding: 0 1rem">
<h1>Parley</h1><p>{}</p></body></html>"""


def serve_page(app: FastAPI, directory: Path = PAGE) -> str:
    """Serve the built page at `/`, or a note that tells how to build it; what readiness says about it."""
    if (directory / "index.html").is_file():
        app.frontend("/", directory=directory)
        return "ok"

    @app.get("/", include_in_schema=False)
    async def note() -> HTMLResponse:
        text = "The page is not built yet: run <code>make page</code>. The API works: see <code>/openapi.json</code>."
        return HTMLResponse(PLAIN.format(text))

    return NOT_BUILT


class LoginByUrl:
    """`GET /…?token=…` sets the cookie and leads to the same URL without the token, which would stay in histories."""

    def __init__(self, app: ASGIApp, door: Door) -> None:
        self._app, self._door = app, door

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        wanted = scope["type"] == "http" and scope["method"] == "GET" and b"token=" in scope["query_string"]
        if not wanted or scope["path"].startswith("/api/"):
            await self._app(scope, receive, send)
            return
        await self._answer(Request(scope))(scope, receive, send)

    def _answer(self, request: Request) -> Response:
        pairs = parse_qsl(request.url.query, keep_blank_values=True)
        rest = urlencode([(name, value) for name, value in pairs if name != "token"])
        path = "/" + request.url.path.lstrip("/\\")  # never another host
        answer = RedirectResponse(f"{path}?{rest}" if rest else path, status_code=303)
        if self._door.open:
            return answer
        login = self._door.credential(dict(pairs).get("token", ""))
        if login is None:
            text = "This login is not valid (any more). Start Parley again for a new one, or ask who runs it."
            return HTMLResponse(PLAIN.format(text), status_code=401)
        answer.set_cookie(
            self._door.cookie,
            self._door.sign(login),
            max_age=COOKIE_DAYS * 86_400,
            httponly=True,
            samesite="strict",
            secure=request.url.scheme == "https",
        )
        return answer


class SafeHeaders:
    """Every answer carries `HEADERS`; what depends on a session is not kept by caches."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if scope["path"].startswith("/api/"):
                    headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self._app(scope, receive, with_headers if scope["type"] == "http" else send)
