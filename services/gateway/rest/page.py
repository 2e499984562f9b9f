"""The web page with its scripts and styles, and the security headers of every response."""

import secrets
from collections.abc import Mapping
from os import stat_result
from pathlib import Path
from types import MappingProxyType
from typing import override

from anyio.to_thread import run_sync
from fastapi import FastAPI
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import FileResponse, HTMLResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from services.gateway.access.auth import COOKIE_DAYS
from services.gateway.access.origins import relative_root
from services.gateway.state import is_secure

PAGE = Path(__file__).parents[1] / "page"
NOT_BUILT = "not built: run `make page`"
NONCE_PLACEHOLDER = "PARLEY-NONCE"  # replaced by a nonce in the built page
CONTENT_POLICY = (
    "default-src 'self'; style-src 'self'{}; img-src 'self' data:; font-src 'self' data:; connect-src 'self'; "
    "object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
SAFE_HEADERS = {
    "Content-Security-Policy": CONTENT_POLICY.format(""),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "accelerometer=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), hid=(), "
    "magnetometer=(), microphone=(), midi=(), payment=(), serial=(), usb=()",
}
RESPONSE_STARTS = (
    "http.response.start",
    "websocket.http.response.start",
)  # of a response, and of a refused handshake
CACHE_FOREVER = "public, max-age=31536000, immutable"
ENCODINGS = {"br": ".br", "gzip": ".gz"}  # smallest first
WORDS_PLACEHOLDER = "PARLEY-WORDS"
PLAIN_PAGE = f"""<!doctype html><html lang="en"><meta charset="utf-8"><meta name="color-scheme" content="light dark">
<meta name="viewport" content="width=device-width, initial-scale=1"><title>Parley</title>
<link rel="icon" href="./icon.svg"><style nonce="{NONCE_PLACEHOLDER}">
body {{ max-width: 30rem; margin: 20vh auto 0; padding: 0 1rem; font: 1rem/1.5 system-ui, sans-serif;
  text-align: center; color: light-dark(#1c1f27, #e4e6eb); background: light-dark(#fbfbfd, #16181d) }}
bdi {{ font-weight: 600; overflow-wrap: anywhere }} .note {{ color: light-dark(#5a6070, #a4a9b6) }}
form {{ display: flex; flex-wrap: wrap; gap: .75rem; justify-content: center; align-items: center; margin: 1.5rem 0 }}
input {{ padding: .6rem; flex: 1 1 12rem; border: 1px solid light-dark(#767c8a, #8b909c); border-radius: .5rem;
  font: inherit; color: inherit; background: transparent }}
button, a {{ padding: .6rem 1.25rem; border-radius: .5rem; border: 1px solid light-dark(#c3c8d4, #4a4f5c);
  font: inherit; color: inherit; text-decoration: none; cursor: pointer }}
button {{ color: #fff; background: #3b5bdb; border-color: #3b5bdb }} :focus-visible {{ outline: 3px solid #74a0ff }}
</style><main><h1>Parley</h1><p>{WORDS_PLACEHOLDER}</p></main></html>"""


def serve_page(app: FastAPI, directory: Path = PAGE) -> str:
    """Serve the built page at `/`, or a note on how to build it. Returns its readiness: "ok" or what to do."""
    index = directory / "index.html"
    if not index.is_file():
        text = "The page is not built yet: run <code>make page</code>. The API works: see <code>/openapi.json</code>."
        app.add_api_route("/", lambda: plain_page(text, "/"), include_in_schema=False)
        return NOT_BUILT

    def page(request: Request) -> HTMLResponse:
        return _html(index.read_text(encoding="utf-8"), request.url.path)

    for path in ("/", "/index.html", "/s/{session_id}", "/s/{session_id}/"):
        app.add_api_route(path, page, include_in_schema=False)
    if (directory / "assets").is_dir():
        app.mount("/assets", Assets(directory=directory / "assets"))
    app.frontend("/", directory=directory, fallback=None)
    return "ok"


def plain_page(
    words: str, path: str, status: int = 200, headers: Mapping[str, str] = MappingProxyType({})
) -> HTMLResponse:
    """A simple page with this HTML text, served at this path."""
    return _html(PLAIN_PAGE.replace(WORDS_PLACEHOLDER, words), path, status, headers)


def _html(text: str, path: str, status: int = 200, headers: Mapping[str, str] = MappingProxyType({})) -> HTMLResponse:
    """A response with a fresh nonce, for its own styles and for those that libraries add at run time.

    The text's URLs are relative to the root. In the response they are relative to this path.
    """
    text = text.replace('="./', f'="{relative_root(path)}')
    nonce = secrets.token_urlsafe(16)
    policy = {"Content-Security-Policy": CONTENT_POLICY.format(f" 'nonce-{nonce}'"), "Cache-Control": "no-store"}
    return HTMLResponse(text.replace(NONCE_PLACEHOLDER, nonce), status, {**policy, **headers})


class SafeHeaders:
    """ASGI middleware that adds `SAFE_HEADERS` to every response, and forbids caching of API responses."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] in RESPONSE_STARTS:
                headers = MutableHeaders(scope=message)
                for name, value in SAFE_HEADERS.items():
                    headers.setdefault(name, value)
                if is_secure(HTTPConnection(scope)):
                    headers.setdefault("Strict-Transport-Security", f"max-age={COOKIE_DAYS * 86_400}")
                if scope["path"].startswith("/api/"):
                    headers.setdefault("Cache-Control", "no-store")
            await send(message)

        await self._app(scope, receive, send if scope["type"] == "lifespan" else with_headers)


class Assets(StaticFiles):
    """Files whose names change with their content, sent compressed by the build if the browser accepts that."""

    @override
    async def get_response(self, path: str, scope: Scope) -> Response:
        encodings = accepted_encodings(Headers(scope=scope).get("accept-encoding", ""))
        for encoding, suffix in ENCODINGS.items():
            if encoding in encodings:
                full, stat = await run_sync(self.lookup_path, path + suffix)
                if stat:
                    return self._compressed(full, stat, scope, encoding)
        return self._cached_forever(await super().get_response(path, scope))

    def _compressed(self, full: str, stat: stat_result, scope: Scope, encoding: str) -> Response:
        response = self._cached_forever(self.file_response(full, stat, scope))
        if isinstance(response, FileResponse):
            response.headers["Content-Encoding"] = encoding
        return response

    def _cached_forever(self, response: Response) -> Response:
        response.headers["Cache-Control"] = CACHE_FOREVER
        response.headers["Vary"] = "Accept-Encoding"
        return response


def accepted_encodings(header: str) -> frozenset[str]:
    """The encodings that an Accept-Encoding header accepts: those without `q=0`."""
    parts = (part.replace(" ", "").partition(";q=") for part in header.lower().split(","))
    return frozenset(name for name, _, quality in parts if quality.strip("0.") or not quality)
