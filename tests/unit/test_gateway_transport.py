"""What the gateway's protocols do with one read and at the end, over a transport that only takes notes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest
from uvicorn.server import ServerState
from websockets.frames import Frame, Opcode

from services.gateway.live.frames import PIECE, WebSocketProtocol
from services.gateway.transport import HttpProtocol, ServerConfig
from tests.support.gateway import gateway_settings

HANDSHAKE = (
    b"GET /ws HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)
SMALL = Frame(Opcode.TEXT, b"{}").serialize(mask=True)


class Transport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.reading, self.closing = True, False
        self.aborted = asyncio.Event()

    def write(self, data: Any) -> None:
        self.written += data

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True

    def is_closing(self) -> bool:
        return self.closing

    def close(self) -> None:
        self.closing = True

    def abort(self) -> None:
        self.aborted.set()

    def write_eof(self) -> None: ...

    def get_write_buffer_size(self) -> int:
        return len(self.written)  # the client reads nothing


async def _silent(scope: Any, receive: Any, send: Any) -> None:
    """An application of which the test plays the part."""
    with suppress(asyncio.CancelledError):
        await asyncio.Event().wait()


@pytest.fixture
async def protocol() -> AsyncIterator[WebSocketProtocol]:
    """A connection that waits for its handshake to be granted."""
    config = ServerConfig(_silent, gateway_settings())
    found = WebSocketProtocol(config, ServerState(), {})
    found.connection_made(Transport())
    found.data_received(HANDSHAKE)
    assert (await found.receive())["type"] == "websocket.connect"
    yield found
    for task in found.tasks:
        task.cancel()


def _transport(protocol: WebSocketProtocol) -> Transport:
    assert isinstance(protocol.transport, Transport)
    return protocol.transport


async def test_nothing_is_read_before_the_handshake_is_granted(protocol: WebSocketProtocol) -> None:
    assert not _transport(protocol).reading
    await protocol.send({"type": "websocket.accept"})
    assert _transport(protocol).reading


async def test_one_read_is_taken_piece_by_piece(protocol: WebSocketProtocol) -> None:
    await protocol.send({"type": "websocket.accept"})
    protocol.data_received(SMALL * 10_000)
    at_once = PIECE // len(SMALL)
    for _ in range(3):
        assert protocol.queue.qsize() <= at_once + 1
        assert not _transport(protocol).reading
        while not protocol.queue.empty():
            assert (await protocol.receive())["type"] == "websocket.receive"
        await asyncio.sleep(0)  # the next piece comes after what else there is to do


async def test_pongs_do_not_pile_up_for_a_client_that_does_not_read(protocol: WebSocketProtocol) -> None:
    await protocol.send({"type": "websocket.accept"})
    ping = Frame(Opcode.PING, b"there?").serialize(mask=True)
    protocol.data_received(ping)
    assert _transport(protocol).written.endswith(b"there?")
    protocol.pause_writing()
    written = len(_transport(protocol).written)
    protocol.data_received(ping * 10)
    protocol.resume_writing()
    assert len(_transport(protocol).written) == written
    protocol.data_received(ping)
    assert len(_transport(protocol).written) > written


async def test_a_socket_that_is_closing_does_not_wait_for_its_client_for_ever(protocol: WebSocketProtocol) -> None:
    protocol.close_timeout = 0.01
    await protocol.send({"type": "websocket.accept"})
    for task in protocol.tasks:
        task.cancel()  # the application has ended
    async with asyncio.timeout(10):
        await _transport(protocol).aborted.wait()
    assert protocol.transport.is_closing()


@pytest.mark.parametrize(
    "head", [b"GET / HTTP/1.0\r\n\r\n", b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"], ids=["ends", "stays"]
)
async def test_an_answer_that_is_not_read_ends_with_its_connection(head: bytes) -> None:
    async def empty(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})

    config = ServerConfig(empty, gateway_settings(request_timeout=0.05), timeout_keep_alive=0)
    protocol, transport = HttpProtocol(config, ServerState(), {}), Transport()
    protocol.connection_made(transport)
    protocol.data_received(head)
    async with asyncio.timeout(10):
        await transport.aborted.wait()
    assert transport.closing


async def test_nothing_is_parsed_after_the_end(protocol: WebSocketProtocol) -> None:
    await protocol.send({"type": "websocket.accept"})
    await protocol.send({"type": "websocket.close", "code": 1008})
    assert (await protocol.receive())["type"] == "websocket.disconnect"
    protocol.data_received(SMALL * 10_000)
    assert not protocol.conn.eof_sent  # or the frames would have been counted, and found to be too many
    assert _transport(protocol).reading
