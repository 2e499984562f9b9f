"""Bounds on what a foreign server sends: counted while it arrives, before anything is kept or parsed.

A parsed message takes up to a hundred times the memory of its bytes, and parsing holds the event loop. So lists,
objects and their separators are counted, too; those inside texts are counted with them, which is why there may be many.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable

import httpx2

CONTAINERS, SEPARATORS = 500_000, 2_000_000  # of one message: a quarter of a second, and 150 MB
SLICE = 8_192  # bytes that are handed on at once
_LINE_ENDS = (b"\n",)
_EVENT_ENDS = (b"\n\n", b"\n\r\n", b"\r\r")


class TooLarge(httpx2.StreamError):
    """What arrives is larger than may be read; the message says which bound it is over, and no content."""


class Meter:
    """Counts a stream of messages, each at most `size` bytes, all of them at most `total` (0: without bound)."""

    def __init__(self, size: int, *, total: int = 0, ends: tuple[bytes, ...] = ()) -> None:
        self._size, self._total, self._ends = size, total, ends
        self._bytes = self._containers = self._separators = self._sum = 0
        self._tail = b""

    @classmethod
    def of_lines(cls, size: int) -> "Meter":
        """A line is a message."""
        return cls(size, ends=_LINE_ENDS)

    @classmethod
    def of_events(cls, size: int, *, total: int = 0) -> "Meter":
        """A server-sent event, which ends with an empty line, is a message."""
        return cls(size, total=total, ends=_EVENT_ENDS)

    def count(self, chunk: bytes) -> None:
        """Raises TooLarge. Chunks are small beside the bounds: messages that end within one are not looked at."""
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
            raise TooLarge(f"a message of more than {self._size:,} bytes")
        if self._containers > CONTAINERS or self._separators > SEPARATORS:
            raise TooLarge(f"a message of more than {CONTAINERS:,} lists and objects, or {SEPARATORS:,} values")
        if 0 < self._total < self._sum:
            raise TooLarge(f"an answer of more than {self._total:,} bytes")


def bounded(
    size: int, *, total: int = 0, exceeded: Callable[[TooLarge], None] = lambda _: None
) -> Callable[[httpx2.Response], Awaitable[None]]:
    """A hook for `event_hooks["response"]` of an httpx2 client: its responses raise TooLarge while they are read.

    `exceeded` is called before that: a library in between may turn the exception into something else. The client has
    to ask for `identity` as encoding: what is compressed cannot be counted, and is refused.
    """

    async def hook(response: httpx2.Response) -> None:
        if response.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
            error = TooLarge("a compressed answer, which was not asked for")
            exceeded(error)
            raise error
        if not isinstance(response.stream, httpx2.AsyncByteStream):
            return
        events = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        meter = Meter.of_events(size, total=total) if events else Meter(size, total=total)
        response.stream = _Counted(response.stream, meter, exceeded)

    return hook


class _Counted(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, meter: Meter, exceeded: Callable[[TooLarge], None]) -> None:
        self._stream, self._meter, self._exceeded = stream, meter, exceeded

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """In slices, between which others get their turn: thousands of events may have come in one chunk."""
        async for chunk in self._stream:
            try:
                self._meter.count(chunk)
            except TooLarge as error:
                self._exceeded(error)
                raise
            yield chunk[:SLICE]
            for start in range(SLICE, len(chunk), SLICE):
                await asyncio.sleep(0)
                yield chunk[start : start + SLICE]

    async def aclose(self) -> None:
        await self._stream.aclose()
