"""The way to a server: a child process with its stderr in our log, or streamable HTTP; and word of its end."""

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
from mcp.client._transport import ReadStream, TransportStreams
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCResponse

from services.executor.mcp.config import ServerConfig
from services.executor.mcp.stdio import child
from shared.message_limits import bounded

OUTPUT_SCHEMA = "parley/outputSchema"  # where a tool's `_meta` has it
LINE, LINES, WINDOW = 500, 50, 10.0  # of stderr: bytes of a line, and lines in so many seconds
HTTP_PATIENCE = 30.0  # seconds to connect and to send; how long an answer may take is the call's own matter

# It logs whatever is none of the protocol's, some of it with a traceback: such calls fail with the reason, from us.
logging.getLogger("mcp.client.streamable_http").setLevel(logging.CRITICAL)

log = structlog.get_logger("executor.mcp")


def transport(
    server: ServerConfig, *, message_bytes: int, ended: Callable[[str], None]
) -> AbstractAsyncContextManager[TransportStreams]:
    """`ended` is called once nothing more can come from the server: with the reason, or "" where it simply ended.

    One message has at most `message_bytes`.
    """
    opened = _stdio if server.command else _http
    return opened(server, message_bytes, ended)


@asynccontextmanager
async def _stdio(
    server: ServerConfig, message_bytes: int, ended: Callable[[str], None]
) -> AsyncIterator[TransportStreams]:
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb", buffering=0) as pipe, os.fdopen(writing, "w", encoding="utf-8") as errlog:
        heard, _ = await asyncio.get_running_loop().connect_read_pipe(lambda: Stderr(server.name), pipe)
        try:
            async with child(server, stderr=errlog, message_bytes=message_bytes, broken=ended) as (read, write):
                errlog.close()  # the child has its own end
                yield Watched(read, ended), write
        finally:
            heard.close()


@asynccontextmanager
async def _http(
    server: ServerConfig, message_bytes: int, ended: Callable[[str], None]
) -> AsyncIterator[TransportStreams]:
    """The library follows redirects to the same origin only."""
    async with (
        httpx2.AsyncClient(
            headers=server.headers | {"accept-encoding": "identity"},
            timeout=httpx2.Timeout(HTTP_PATIENCE, read=None),
            trust_env=not _is_near(server.url),  # no proxy leads to our own machine
            event_hooks={"response": [bounded(message_bytes, exceeded=lambda error: ended(f"it sent {error}"))]},
        ) as http,
        streamable_http_client(server.url, http_client=http, max_sse_event_size=message_bytes) as (read, write),
    ):
        yield Watched(read, ended), write


def _is_near(url: str) -> bool:
    host = httpx2.URL(url).host
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Watched:
    """The stream of what a server sends; whoever reads it leaves it when it is over, and we hear of that.

    In lists of tools the schemas of results are moved out of the library's sight: it would hold results against them,
    and so evaluate a stranger's regular expressions in our event loop.
    """

    def __init__(self, stream: ReadStream[SessionMessage | Exception], ended: Callable[[str], None]) -> None:
        self._stream, self._ended = stream, ended

    @property
    def last_context(self) -> object:
        """Where the library's own streams have it."""
        return getattr(self._stream, "last_context", None)

    async def receive(self) -> SessionMessage | Exception:
        return _with_schemas_aside(await self._stream.receive())

    async def aclose(self) -> None:
        await self._stream.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        return _with_schemas_aside(await self._stream.__anext__())

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        self._ended("")
        return await self._stream.__aexit__(kind, error, trace)


def _with_schemas_aside(message: SessionMessage | Exception) -> SessionMessage | Exception:
    if isinstance(message, SessionMessage) and isinstance(message.message, JSONRPCResponse):
        tools = message.message.result.get("tools")
        for tool in tools if isinstance(tools, list) else ():
            if isinstance(tool, dict) and (schema := tool.pop("outputSchema", None)) is not None:
                meta = tool.get("_meta")
                tool["_meta"] = {**(meta if isinstance(meta, dict) else {}), OUTPUT_SCHEMA: schema}
    return message


class Stderr(asyncio.Protocol):
    """What a child writes on stderr, line by line into the log: cut, and no more of it than a person could read."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._rest = b""
        self._since, self._written, self._dropped = 0.0, 0, 0

    def data_received(self, data: bytes) -> None:
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest[:LINE]
        for line in lines:
            self._tell(line[:LINE].decode(errors="replace").rstrip())

    def connection_lost(self, _: Exception | None) -> None:
        if self._rest:
            self._tell(self._rest.decode(errors="replace"))
        self._admit()

    def _tell(self, line: str) -> None:
        if time.monotonic() - self._since > WINDOW:
            self._admit()
            self._since, self._written = time.monotonic(), 0
        if self._written >= LINES:
            self._dropped += 1
        elif line:
            self._written += 1
            log.info("mcp_stderr", server=self._server, line=line)

    def _admit(self) -> None:
        if self._dropped:
            log.info("mcp_stderr_dropped", server=self._server, lines=self._dropped)
        self._dropped = 0
