"""The HTTP server for health, readiness and metrics of every service but the gateway."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable

from shared.telemetry import metrics

REQUEST_TIMEOUT = 5.0  # seconds for a whole request
MAX_HEADERS = 100
Ready = Callable[[], bool]


@contextlib.asynccontextmanager
async def health_server(port: int, ready: Ready) -> AsyncIterator[None]:
    """Serve /healthz (the event loop runs), /readyz (the service can work) and /metrics; port 0: do not."""
    if not port:
        yield
        return

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, TimeoutError, ValueError, asyncio.IncompleteReadError):
            async with asyncio.timeout(REQUEST_TIMEOUT):
                line = await reader.readline()
                for _ in range(MAX_HEADERS):  # unread headers would turn the close into a reset
                    if not (await reader.readline()).strip():
                        break
                status, kind, body = _answer(line, ready)
                writer.write(b"HTTP/1.1 %s\r\nContent-Type: %s\r\n" % (status.encode(), kind.encode()))
                writer.write(b"Content-Length: %d\r\nConnection: close\r\n\r\n%s" % (len(body), body))
                await writer.drain()
        writer.close()

    async with await asyncio.start_server(respond, "0.0.0.0", port):  # noqa: S104  inside its container
        yield


def _answer(line: bytes, ready: Ready) -> tuple[str, str, bytes]:
    """Status, content type and body."""
    if line.startswith(b"GET /metrics"):
        return "200 OK", metrics.CONTENT_TYPE, metrics.exposition()
    good = not line.startswith(b"GET /readyz") or ready()
    status = "200 OK" if good else "503 Service Unavailable"
    return status, "application/json", json.dumps({"ready": ready()}).encode()
