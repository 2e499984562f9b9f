"""The path below which a reverse proxy serves Parley: `/tools/parley/s/<id>` is Parley's `/s/<id>`.

The page's URLs are relative, so a proxy may remove the path from requests, and Parley need not know it. If the proxy
leaves the path in them, this middleware removes it.
"""

import re

from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

# What follows an unknown path. Probes, metrics and unknown paths are served at the root only.
OWN = r"(?:|index\.html|icon\.svg|(?:openapi|asyncapi|protocol\.schema)\.json|login|ws|(?:api|assets|s)/.+)"
FIRST_SEGMENTS = "api|assets|s|ws|login"  # of Parley's own paths: /api/ is not the page below the path /api
BELOW_UNKNOWN = re.compile(rf"(?!/(?:{FIRST_SEGMENTS})(?:/|$))((?:/[\w~-][\w.~-]*)+?)(/{OWN})", re.ASCII)


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
