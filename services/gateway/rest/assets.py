"""The page's scripts and styles: their names change with their content, so a browser asks for each only once."""

from os import stat_result
from typing import override

from anyio.to_thread import run_sync
from starlette.datastructures import Headers
from starlette.responses import FileResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

FOREVER = "public, max-age=31536000, immutable"
ENCODINGS = {"br": ".br", "gzip": ".gz"}  # the smaller one first


class Assets(StaticFiles):
    """Files that never change, sent as the build compressed them where the browser can read that."""

    @override
    async def get_response(self, path: str, scope: Scope) -> Response:
        wanted = accepted(Headers(scope=scope).get("accept-encoding", ""))
        for encoding, suffix in ENCODINGS.items():
            if encoding in wanted:
                full, found = await run_sync(self.lookup_path, path + suffix)
                if found:
                    return self._compressed(full, found, scope, encoding)
        return self._kept(await super().get_response(path, scope))

    def _compressed(self, full: str, found: stat_result, scope: Scope, encoding: str) -> Response:
        response = self._kept(self.file_response(full, found, scope))
        if isinstance(response, FileResponse):
            response.headers["Content-Encoding"] = encoding
        return response

    def _kept(self, response: Response) -> Response:
        response.headers["Cache-Control"] = FOREVER
        response.headers["Vary"] = "Accept-Encoding"
        return response


def accepted(header: str) -> frozenset[str]:
    """The encodings that an Accept-Encoding names, without those that it forbids with `q=0`."""
    parts = (part.replace(" ", "").partition(";q=") for part in header.lower().split(","))
    return frozenset(name for name, _, quality in parts if quality.strip("0.") or not quality)
