"""Limits on what an external server sends, counted while it arrives, before anything is stored or parsed.

A parsed message can take a hundred times the memory of its bytes, and parsing blocks the event loop. So lists, objects
and separators are counted, too. Those inside texts also count, so the limits are high.

`CONNECTIONS` sets how long clients reuse an idle connection to such a server.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import httpx2

MAX_CONTAINERS, MAX_SEPARATORS = 500_000, 2_000_000  # per message: a quarter of a second, and 150 MB
SLICE = 8_192  # bytes passed on at once
# Many servers close a connection after five idle seconds, and httpx2 reuses one for as long. A request that is sent
# as it closes is lost, and whether a write took effect is unknown. So it is dropped sooner.
CONNECTIONS = httpx2.Limits(max_connections=1_000, max_keepalive_connections=100, keepalive_expiry=2)
_LINE_ENDS = (b"\n",)
_EVENT_ENDS = (b"\n\n", b"\n\r\n", b"\r\r")

type Mend = Callable[[bytes], bytes]


class MessageTooLong(httpx2.StreamError):
    """The incoming data exceeds a limit. The text names the limit and no content."""


class MessageMeter:
    """Counts a stream of messages: each at most `size` bytes, all of them at most `total` (0: unlimited)."""

    def __init__(self, size: int, *, total: int = 0, ends: tuple[bytes, ...] = ()) -> None:
        self._size, self._total, self._ends = size, total, ends
        self._bytes = self._containers = self._separators = self._sum = 0
        self._tail = b""

    @classmethod
    def of_lines(cls, size: int) -> "MessageMeter":
        """A meter for messages that are lines."""
        return cls(size, ends=_LINE_ENDS)

    @classmethod
    def of_events(cls, size: int, *, total: int = 0) -> "MessageMeter":
        """A meter for messages that are server-sent events, which end with an empty line."""
        return cls(size, total=total, ends=_EVENT_ENDS)

    def count(self, chunk: bytes) -> None:
        """Raises MessageTooLong. Chunks are far below the limits, so messages that end within one are not checked."""
        self._sum += len(chunk)
        window = self._tail + chunk
        if (end := max((window.rfind(mark) for mark in self._ends), default=-1)) >= 0:
            self._bytes = self._containers = self._separators = 0
            chunk = window[end:]
        self._tail = window[-2:] if self._ends else b""
        self._bytes += len(chunk)
        self._containers += chunk.count(b"{") + chunk.count(b"[")
        self._separators += chunk.count(b",")
        if self._bytes > self._size:
            raise MessageTooLong(f"a message of more than {self._size:,} bytes")
        if self._containers > MAX_CONTAINERS or self._separators > MAX_SEPARATORS:
            raise MessageTooLong(
                f"a message of more than {MAX_CONTAINERS:,} lists and objects, or {MAX_SEPARATORS:,} values"
            )
        if 0 < self._total < self._sum:
            raise MessageTooLong(f"an answer of more than {self._total:,} bytes")


def limit_responses(
    size: int, *, total: int = 0, exceeded: Callable[[MessageTooLong], None] = lambda _: None, mend: Mend | None = None
) -> Callable[[httpx2.Response], Awaitable[None]]:
    """A hook for `event_hooks["response"]` of an httpx2 client: responses raise MessageTooLong while they are read.

    `exceeded` is called before that, because a library in between may replace the exception. The client must request
    the encoding `identity`: compressed responses cannot be counted, so they are refused. `mend` corrects each line of a
    response before the library reads it.
    """

    async def hook(response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            error = MessageTooLong("a compressed answer, which was not asked for")
            exceeded(error)
            raise error
        if not isinstance(response.stream, httpx2.AsyncByteStream):
            return
        events = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        meter = MessageMeter.of_events(size, total=total) if events else MessageMeter(size, total=total)
        response.stream = _MeteredStream(response.stream, meter, exceeded, mend)

    return hook


class _MeteredStream(httpx2.AsyncByteStream):
    def __init__(
        self,
        stream: httpx2.AsyncByteStream,
        meter: MessageMeter,
        exceeded: Callable[[MessageTooLong], None],
        mend: Mend | None,
    ) -> None:
        self._stream, self._meter, self._exceeded, self._mend = stream, meter, exceeded, mend

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Yield slices, and let other tasks run in between: a chunk may contain thousands of events."""
        async for chunk in self._mended():
            yield chunk[:SLICE]
            for start in range(SLICE, len(chunk), SLICE):
                await asyncio.sleep(0)
                yield chunk[start : start + SLICE]

    async def _mended(self) -> AsyncIterator[bytes]:
        """The chunks as they arrive; or whole lines, if they are to be mended."""
        parts: list[bytes] = []
        async for chunk in self._stream:
            try:
                self._meter.count(chunk)
            except MessageTooLong as error:
                self._exceeded(error)
                raise
            if self._mend is None:
                yield chunk
                continue
            end = max(chunk.rfind(b"\n"), chunk.rfind(b"\r")) + 1
            if end:
                yield self._mend(b"".join((*parts, chunk[:end])))
                parts.clear()
            parts.append(chunk[end:])
        if self._mend and any(parts):
            yield self._mend(b"".join(parts))

    async def aclose(self) -> None:
        await self._stream.aclose()
