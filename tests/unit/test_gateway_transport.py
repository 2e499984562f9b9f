"""The HTTP and WebSocket protocols: reading, limits and closing, over a recording transport."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest
from uvicorn.server import ServerState
from websockets.frames import Frame, Opcode

from services.gateway.live.http_protocol import HttpProtocol, UvicornConfig
from services.gateway.live.websocket_protocol import PIECE_BYTES, WebSocketProtocol
from tests.support.gateway import gateway_settings
from tests.support.timeouts import WAIT_TIMEOUT

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
    """An application that does nothing."""
    with suppress(asyncio.CancelledError):
        await asyncio.Event().wait()


@pytest.fixture
async def protocol() -> AsyncIterator[WebSocketProtocol]:
    """A connection whose handshake is not accepted yet."""
    config = UvicornConfig(_silent, gateway_settings())
    connection = WebSocketProtocol(config, ServerState(), {})
    connection.connection_made(Transport())
    connection.data_received(HANDSHAKE)
    assert (await connection.receive())["type"] == "websocket.connect"
    yield connection
    for task in connection.tasks:
        task.cancel()


def _transport(protocol: WebSocketProtocol) -> Transport:
    assert isinstance(protocol.transport, Transport)
    return protocol.transport


async def test_one_read_is_parsed_in_pieces(protocol: WebSocketProtocol) -> None:
    await protocol.send({"type": "websocket.accept"})
    protocol.data_received(SMALL * 10_000)
    messages_in_piece = PIECE_BYTES // len(SMALL)
    for _ in range(3):
        assert protocol.queue.qsize() <= messages_in_piece + 1
        assert not _transport(protocol).reading
        while not protocol.queue.empty():
            assert (await protocol.receive())["type"] == "websocket.receive"
        await asyncio.sleep(0)  # the next piece is parsed after the loop's other work


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


async def test_a_closing_socket_is_aborted_after_a_timeout(protocol: WebSocketProtocol) -> None:
    protocol.close_timeout = 0.01
    await protocol.send({"type": "websocket.accept"})
    for task in protocol.tasks:
        task.cancel()  # the application has ended
    async with asyncio.timeout(WAIT_TIMEOUT):
        await _transport(protocol).aborted.wait()
    assert protocol.transport.is_closing()


async def test_a_connection_is_kept_between_requests_and_a_request_still_has_to_arrive_in_time() -> None:
    """A proxy keeps connections for a minute, and must not send a request into one that ends."""

    async def empty(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"0")]})
        await send({"type": "http.response.body"})

    config = UvicornConfig(empty, gateway_settings(request_timeout=0.05))
    assert config.timeout_keep_alive > 60
    protocol, transport = HttpProtocol(config, ServerState(), {}), Transport()
    protocol.connection_made(transport)
    for requests in (1, 2):
        protocol.data_received(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
        await asyncio.sleep(0.2)  # the passing of time is what is tested
        assert (transport.written.count(b"200 OK"), transport.closing) == (requests, False)
    protocol.data_received(b"GET / HTT")
    async with asyncio.timeout(WAIT_TIMEOUT):
        while b" 408 " not in transport.written:  # noqa: ASYNC110  the recording transport sets no event
            await asyncio.sleep(0.01)


async def test_nothing_is_parsed_after_the_socket_is_closed(protocol: WebSocketProtocol) -> None:
    await protocol.send({"type": "websocket.accept"})
    await protocol.send({"type": "websocket.close", "code": 1008})
    assert (await protocol.receive())["type"] == "websocket.disconnect"
    protocol.data_received(SMALL * 10_000)
    assert not protocol.conn.eof_sent  # parsing so many frames would have ended the connection with an error
    assert _transport(protocol).reading
