"""The transport to a server: a child process whose stderr is logged, or streamable HTTP."""

import asyncio
import logging
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from ipaddress import ip_address
from types import TracebackType
from typing import Self

import httpx2
import structlog
from mcp.client._transport import ReadStream, TransportStreams, WriteStream
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp.types import INTERNAL_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic import ValidationError

from services.executor.mcp.config import McpServerConfig
from services.executor.mcp.json_text import json_objects, mended
from services.executor.mcp.raw_results import SendingStream, SentMethods
from services.executor.mcp.results import quoted
from services.executor.mcp.stdio import as_message, open_child
from shared.message_limits import CONNECTIONS, limit_responses

LINE, LINES, WINDOW = 500, 50, 10.0  # of stderr: characters per line, and lines per seconds
HTTP_TIMEOUT = 30.0  # seconds to connect and to send; how long an answer may take is the call's own matter

# The library logs protocol violations with tracebacks; Parley reports them as failed calls.
logging.getLogger("mcp.client.streamable_http").setLevel(logging.CRITICAL)

log = structlog.get_logger("executor.mcp")


def open_transport(
    server: McpServerConfig, *, message_bytes: int, ended: Callable[[str], None]
) -> AbstractAsyncContextManager[TransportStreams]:
    """Opens the transport of this server. A message has at most `message_bytes`.

    Calls `ended` when the server can send nothing more, with the reason, or "" after a normal end.
    """
    return (_stdio if server.command else _http)(server, message_bytes, ended)


@asynccontextmanager
async def _stdio(
    server: McpServerConfig, message_bytes: int, ended: Callable[[str], None]
) -> AsyncIterator[TransportStreams]:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb", buffering=0) as pipe, os.fdopen(writing, "w", encoding="utf-8") as errlog:
        stderr, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: StderrLogger(server.name), pipe)
        try:
            async with open_child(server, stderr=errlog, message_bytes=message_bytes, broken=ended) as (read, write):
                errlog.close()  # the child has its own end
                yield _watched(read, write, ended)
        finally:
            stderr.close()


@asynccontextmanager
async def _http(
    server: McpServerConfig, message_bytes: int, ended: Callable[[str], None]
) -> AsyncIterator[TransportStreams]:
    """Connects over HTTP. The library follows only redirects to the same origin."""
    limit = limit_responses(message_bytes, exceeded=lambda error: ended(f"it sent {error}"), mend=mended)
    async with (
        httpx2.AsyncClient(
            headers=server.headers | {"accept-encoding": "identity"},
            timeout=httpx2.Timeout(HTTP_TIMEOUT, read=None),
            limits=CONNECTIONS,
            trust_env=not _is_local(server.url),  # no proxy for this machine
            event_hooks={"response": [limit, _make_readable]},
        ) as http,
        streamable_http_client(server.url, http_client=http, max_sse_event_size=message_bytes) as (read, write),
    ):
        yield _watched(read, write, ended)


async def _make_readable(response: httpx2.Response) -> None:
    """Turn the body of a refusal, and any JSON body, into one JSON-RPC message: the library drops what others say.

    A 404 that is not JSON stays as it is: the library takes it to mean that the session is lost.
    """
    is_refusal = response.status_code >= 400 and response.status_code != 404
    is_json = response.headers.get("content-type", "").lower().startswith("application/json")
    if (is_refusal or is_json) and isinstance(response.stream, httpx2.AsyncByteStream):
        response.stream = _OneMessage(response, response.stream)
        response.headers["content-type"] = "application/json"


class _OneMessage(httpx2.AsyncByteStream):
    """Passes on a valid message; replaces another body by the last message in it, or by an error that quotes it."""

    def __init__(self, response: httpx2.Response, stream: httpx2.AsyncByteStream) -> None:
        self._refusal = f"HTTP {response.status_code} {response.reason_phrase}" if response.is_error else ""
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        body = b"".join([chunk async for chunk in self._stream])
        try:
            jsonrpc_message_adapter.validate_json(body, by_name=False)
        except ValidationError:
            body = self._message(body.decode(errors="replace")) or body
        yield body

    def _message(self, text: str) -> bytes:
        if found := [message for each in json_objects(text) if (message := as_message(each))]:
            return found[-1].message.model_dump_json(by_alias=True, exclude_unset=True).encode()
        if not self._refusal:
            return b""
        words = f"{self._refusal}: {quoted(text, 300).strip()}".removesuffix(": ")
        error = JSONRPCError(jsonrpc="2.0", id=None, error=ErrorData(code=INTERNAL_ERROR, message=words))
        return error.model_dump_json().encode()

    async def aclose(self) -> None:
        await self._stream.aclose()


def _is_local(url: str) -> bool:
    host = httpx2.URL(url).host
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _watched(
    read: ReadStream[SessionMessage | Exception], write: WriteStream[SessionMessage], ended: Callable[[str], None]
) -> TransportStreams:
    methods = SentMethods()
    return WatchedStream(read, methods, ended), SendingStream(write, methods)


class WatchedStream:
    """The stream of a server's messages. It reports when the reader closes it."""

    def __init__(
        self, stream: ReadStream[SessionMessage | Exception], methods: SentMethods, ended: Callable[[str], None]
    ) -> None:
        self._stream, self._methods, self._ended = stream, methods, ended

    @property
    def last_context(self) -> object:
        """The attribute of the library's own streams."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        return self._methods.received(await self._stream.receive())

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return self._methods.received(await self._stream.__anext__())

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._ended("")
        return await self._stream.__aexit__(kind, error, trace)


class StderrLogger(asyncio.Protocol):
    """Logs a child's stderr by line, with limits on length and rate."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._rest = b""
        self._window_began, self._written, self._dropped = 0.0, 0, 0

    def data_received(self, data: bytes) -> None:
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest[: 4 * LINE]  # more than is logged, so that no secret is split
        for line in lines:
            self._log(line)

    def connection_lost(self, _: Exception | None) -> None:
        if self._rest:
            self._log(self._rest)
        self._log_dropped()

    def _log(self, data: bytes) -> None:
        line = quoted(data.decode(errors="replace"), LINE).rstrip()
        if time.monotonic() - self._window_began > WINDOW:
            self._log_dropped()
            self._window_began, self._written = time.monotonic(), 0
        if self._written >= LINES:
            self._dropped += 1
        elif line:
            self._written += 1
            log.info("mcp_stderr", server=self._server, line=line)

    def _log_dropped(self) -> None:
        if self._dropped:
            log.info("mcp_stderr_dropped", server=self._server, lines=self._dropped)
        self._dropped = 0
