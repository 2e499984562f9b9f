"""uvicorn's WebSocket protocol, with limits on the number and rate of frames.

A read is parsed in small pieces, and parsing stops while the application has unread messages.
"""

import asyncio
from asyncio.transports import BaseTransport
from typing import TYPE_CHECKING

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import CloseCode

from services.gateway.access.quota import TokenBucket

if TYPE_CHECKING:
    from uvicorn._types import ASGIReceiveEvent, ASGISendEvent

MAX_FRAGMENTS = 1_000  # frames of one message
FRAMES_PER_SECOND = 1_000  # of all kinds; also the burst
PIECE_BYTES = 256  # parsed at once: at most 42 frames
LINGER_SECONDS = 2.0  # for a client to read why it was cut off; what it sends meanwhile is discarded
MALFORMED = b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"


def close_lingering(
    transport: asyncio.Transport, loop: asyncio.AbstractEventLoop, seconds: float
) -> asyncio.TimerHandle:
    """Close after a delay: closing with unread bytes would reset the connection before the client reads the end."""
    if not transport.is_closing():
        transport.write_eof()
        transport.resume_reading()
    return loop.call_later(seconds, transport.abort)


class WebSocketProtocol(WebSocketsSansIOProtocol):
    """One connection after a request to upgrade it."""

    def connection_made(self, transport: BaseTransport) -> None:
        super().connection_made(transport)
        self._unparsed = bytearray()
        self._parse_scheduled = self._ended = False
        self._frames = TokenBucket(burst=FRAMES_PER_SECOND, rate=FRAMES_PER_SECOND)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._unparsed.clear()
        self.conn.parser.close()  # frees the last frame: the parser is in a reference cycle, collected much later

    def data_received(self, data: bytes) -> None:
        if self._ended:
            return
        if not self.handshake_initiated:
            self._open(data)
            return
        self._unparsed += data
        if not self._parse_scheduled:
            self._parse()

    def _open(self, head: bytes) -> None:
        """Handle the upgrade request. No frame is read before the handshake is accepted."""
        super().data_received(head)
        if self.handshake_initiated:
            self.transport.pause_reading()
        else:
            self.transport.write(MALFORMED)
            self.transport.close()

    async def run_asgi(self) -> None:
        """Run the application. A closing transport waits forever for its client to read the rest: abort it."""
        await super().run_asgi()
        self.loop.call_later(self.close_timeout, self.transport.abort)

    # --- parsing in pieces

    def _parse(self) -> None:
        self._parse_scheduled = False
        while self._unparsed and not (self.read_paused or self._ended or self.transport.is_closing()):
            piece = bytes(self._unparsed[:PIECE_BYTES])
            del self._unparsed[:PIECE_BYTES]
            super().data_received(piece)
        if not (self.read_paused or self._ended or self.transport.is_closing()):
            self.transport.resume_reading()

    def _parse_later(self) -> None:
        if self._unparsed and not self.read_paused and not self._parse_scheduled:
            self._parse_scheduled = True
            self.transport.pause_reading()
            self.loop.call_soon(self._parse)

    async def receive(self) -> "ASGIReceiveEvent":
        message = await super().receive()
        self._parse_later()
        return message

    async def send(self, message: "ASGISendEvent") -> None:
        await super().send(message)
        if message["type"] == "websocket.send":  # uvicorn waits before a write, not for its data to leave the transport
            await self.writable.wait()
        elif message["type"] == "websocket.accept" and not self.transport.is_closing():
            self.transport.resume_reading()
        elif message["type"] == "websocket.close":
            self._end(self.close_timeout)  # do not spend time on decompressing what the client sends after that
        elif message["type"] == "websocket.http.response.body" and self.close_sent:
            self.handshake_complete = True  # else uvicorn logs each refused handshake as an error of the application

    # --- limits

    def handle_events(self) -> None:
        if not all(self._frames.take() for _ in self.conn.events):
            self._fail(f"more than {FRAMES_PER_SECOND} frames in a second")
            return
        super().handle_events()
        if len(self.frames) > MAX_FRAGMENTS:
            self._fail(f"a message in more than {MAX_FRAGMENTS} frames")

    def handle_ping(self) -> None:
        if self.writable.is_set():
            super().handle_ping()
        else:
            self.conn.data_to_send()  # no pongs for a client that does not read: they would pile up

    def _fail(self, reason: str) -> None:
        self.conn.fail(CloseCode.POLICY_VIOLATION, reason)
        self.handle_parser_exception()

    def handle_parser_exception(self) -> None:
        close = self.conn.close_sent
        self.close_sent = True
        if close is not None:
            self.queue.put_nowait({"type": "websocket.disconnect", "code": close.code, "reason": close.reason})
        self.transport.write(b"".join(self.conn.data_to_send()))
        self._end(LINGER_SECONDS)

    def _end(self, seconds: float) -> None:
        """Let the client read the close frame, and parse nothing more."""
        self._ended = True
        self._unparsed.clear()
        if self.close_timer is not None:
            self.close_timer.cancel()
        self.close_timer = close_lingering(self.transport, self.loop, seconds)
