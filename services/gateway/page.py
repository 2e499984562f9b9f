"""The page, and what stands around every answer: login by URL, and headers that keep a browser safe."""

import secrets
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.gateway.auth import COOKIE_DAYS, Door
from services.gateway.limits import Guesses
from services.gateway.state import is_secure
from services.gateway.trouble import Trouble

PAGE = Path(__file__).parent / "page"
NOT_BUILT = "not built: run `make page`"
NONCE = "PARLEY-NONCE"  # where the built page wants one
POLICY = (
    "default-src 'self'; style-src 'self'{}; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
HEADERS = {
    "Content-Security-Policy": POLICY.format(""),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), hid=(), "
    "magnetometer=(), microphone=(), midi=(), payment=(), serial=(), usb=()",
}
STARTS = ("http.response.start", "websocket.http.response.start")  # of an answer, and of a handshake that is refused
WORDS = "PARLEY-WORDS"
PLAIN = f"""<!doctype html><html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>Parley</title>
<link rel="icon" href="/icon.svg"><style nonce="{NONCE}">
body {{ max-width: 30rem; margin: 20vh auto 0; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif;
  text-align: center; color: light-dark(#1c1f27, #e4e6eb); background: light-dark(#fbfbfd, #16181d) }}
</style><main><h1>Parley</h1><p>{WORDS}</p></main></html>"""


def serve_page(app: FastAPI, directory: Path = PAGE) -> str:
    """Serve the built page at `/`, or a note that tells how to build it; what readiness says about it."""
    index = directory / "index.html"
    if not index.is_file():
        text = "The page is not built yet: run <code>make page</code>. The API works: see <code>/openapi.json</code>."
        app.add_api_route("/", lambda: _html(PLAIN.replace(WORDS, text)), include_in_schema=False)
        return NOT_BUILT

    def page() -> HTMLResponse:
        return _html(index.read_text(encoding="utf-8"))

    for path in ("/", "/index.html", "/s/{session_id}"):
        app.add_api_route(path, page, include_in_schema=False)
    app.frontend("/", directory=directory, fallback=None)
    return "ok"


def _html(text: str, status: int = 200, **headers: str) -> HTMLResponse:
    """With a nonce for this answer alone, which its styles, and those that libraries make at run time, carry."""
    nonce = secrets.token_urlsafe(16)
    policy = {"Content-Security-Policy": POLICY.format(f" 'nonce-{nonce}'"), "Cache-Control": "no-store"}
    return HTMLResponse(text.replace(NONCE, nonce), status, policy | headers)


class LoginByUrl:
    """`GET /…?token=…` sets the cookie and leads to the same URL without the token, which would stay in histories."""

    def __init__(self, app: ASGIApp, door: Door, guesses: Guesses) -> None:
        self._app, self._door, self._guesses = app, door, guesses

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
        secret, secure = dict(pairs).get("token", ""), is_secure(request)
        try:
            with self._guesses.attempt(request, secret):
                login = self._door.login(bearer=secret, cookie="")
        except Trouble as refused:
            return _not_in(refused)
        answer.set_cookie(
            self._door.cookie(secure=secure),
            self._door.sign(login),
            max_age=COOKIE_DAYS * 86_400,
            httponly=True,
            samesite="strict",
            secure=secure,
        )
        return answer


def _not_in(refused: Trouble) -> HTMLResponse:
    if refused.retry_after:
        words, again = f"{refused.message} {refused.hint}", str(refused.retry_after)
        return _html(PLAIN.replace(WORDS, words), refused.status, **{"Retry-After": again})
    words = "This login is not valid (any more). Open the address that <code>parley up</code> printed, or ask for one."
    return _html(PLAIN.replace(WORDS, words), refused.status)


class SafeHeaders:
    """Every answer carries `HEADERS`; what depends on a session is not kept by caches."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] in STARTS:
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if is_secure(HTTPConnection(scope)):
                    headers.setdefault("Strict-Transport-Security", f"max-age={COOKIE_DAYS * 86_400}")
                if scope["path"].startswith("/api/"):
                    headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self._app(scope, receive, send if scope["type"] == "lifespan" else with_headers)
