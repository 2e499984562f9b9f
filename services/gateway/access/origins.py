"""Checks of Host, Origin and Sec-Fetch-Site: a page of another site must not act in the user's name (CSRF). Pure."""

import re
from collections.abc import Collection
from urllib.parse import SplitResult, urlsplit

from starlette.requests import HTTPConnection
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from services.gateway.api_errors import ApiError
from shared.login import is_loopback

# What follows an unknown path. Probes, metrics and unknown paths are served at the root only.
OWN = r"(?:|index\.html|icon\.svg|(?:openapi|asyncapi|protocol\.schema)\.json|login|ws|(?:api|assets|s)/.+)"
FIRST_SEGMENTS = "api|assets|s|ws|login"  # of Parley's own paths: /api/ is not the page below the path /api
BELOW_UNKNOWN = re.compile(rf"(?!/(?:{FIRST_SEGMENTS})(?:/|$))((?:/[\w~-][\w.~-]*)+?)(/{OWN})", re.ASCII)
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
HTTP_SCHEMES = {"ws": "http", "wss": "https"}
PROXY_HINT = "PARLEY_ALLOWED_ORIGINS can allow them; behind a proxy, TRUSTED_PROXIES must name its address."
DEFAULT_PORTS = {"http": 80, "https": 443}


class RemoveRootPath:
    """ASGI middleware. Without `root_path` the path is whatever precedes one of Parley's own."""

    def __init__(self, app: ASGIApp, root_path: str) -> None:
        self._app, self._root_path = app, root_path.rstrip("/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            if scope["path"] == self._root_path and scope["type"] == "http":
                await RedirectResponse(self._root_path.rpartition("/")[2] + "/", 308)(scope, receive, send)
                return
            scope = {**scope, "path": self._own_path(scope["path"])}
        await self._app(scope, receive, send)

    def _own_path(self, path: str) -> str:
        if self._root_path:
            return path.removeprefix(self._root_path) if path.startswith(f"{self._root_path}/") else path
        match = BELOW_UNKNOWN.fullmatch(path)
        return match[2] if match else path


def relative_root(path: str) -> str:
    """The relative URL that leads from this path of Parley to its root."""
    return "../" * (path.count("/") - 1) or "./"


def check_host(connection: HTTPConnection, allowed: Collection[str]) -> None:
    """Accept only known host names. Without a login this stops DNS rebinding. Raises ApiError(forbidden)."""
    name = _host(connection).hostname or ""
    if not is_loopback(name) and name not in {urlsplit(origin).hostname for origin in allowed}:
        raise ApiError(
            "forbidden", f"This Parley is not known as {name!r}.", "Use 127.0.0.1, or set PARLEY_ALLOWED_ORIGINS."
        )


def check_origin(connection: HTTPConnection, allowed: Collection[str]) -> None:
    """Accept a request without Origin, from our own page, or from `allowed`. Raises ApiError(forbidden)."""
    origin = connection.headers.get("origin")
    if origin is not None and origin not in allowed and not _is_own_origin(origin, connection):
        behind = "x-forwarded-proto" in connection.headers
        hint = PROXY_HINT if behind else "PARLEY_ALLOWED_ORIGINS can allow them."
        raise ApiError("forbidden", f"Pages from {origin} may not use this Parley.", hint)


def check_not_forged(connection: HTTPConnection, allowed: Collection[str], *, cookie: bool) -> None:
    """Check a request that changes something. `cookie`: the browser authenticated it. Raises ApiError(forbidden)."""
    check_origin(connection, allowed)
    site = connection.headers.get("sec-fetch-site")
    has_own_origin = "origin" in connection.headers or site == "same-origin"
    if (site is not None and site not in ("same-origin", "none") and "origin" not in connection.headers) or (
        cookie and not has_own_origin
    ):
        raise ApiError("forbidden", "A change by cookie must come from Parley's own page.", "Use a Bearer token.")


def _is_own_origin(origin: str, connection: HTTPConnection) -> bool:
    try:
        theirs, ours = urlsplit(origin), _host(connection)
        scheme = HTTP_SCHEMES.get(connection.url.scheme, connection.url.scheme)
        default = DEFAULT_PORTS.get(scheme)
        same_port = (theirs.port or default) == (ours.port or default)
    except ValueError:
        return False
    return theirs.scheme == scheme and theirs.hostname == ours.hostname and same_port


def _host(connection: HTTPConnection) -> SplitResult:
    try:
        return urlsplit(f"//{connection.headers.get('host', '')}")
    except ValueError as error:
        raise ApiError("forbidden", "The Host header cannot be read.") from error
