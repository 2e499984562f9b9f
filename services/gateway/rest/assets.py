"""The page's scripts and styles. Their names change with their content, so browsers may cache them forever."""

from os import stat_result
from typing import override

from anyio.to_thread import run_sync
from starlette.datastructures import Headers
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

CACHE_FOREVER = "public, max-age=31536000, immutable"
ENCODINGS = {"br": ".br", "gzip": ".gz"}  # smallest first


class Assets(StaticFiles):
    """Immutable files, sent compressed by the build if the browser accepts that."""

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
