"""Floods of a hostile client: `python -m tests.support.floods NAME ADDRESS TOKEN SECONDS CONNECTIONS`.

Use it only against a gateway on this machine. A closed connection is opened again until the time is over.
"""

import base64
import os
import socket
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress

Pieces = Iterator[bytes]
BLOCK = 256 * 1024  # bytes sent at once
MASK = bytes(4)


def _repeat(piece: bytes) -> Pieces:
    """The piece repeated without end, in large blocks."""
    block = piece * max(1, BLOCK // len(piece))
    while True:
        yield block


def _request(line: str, *headers: str, end: bool = True) -> bytes:
    return "\r\n".join((line, "Host: 127.0.0.1", *headers, "\r\n" if end else "")).encode()


def _chunked(*headers: str) -> bytes:
    return _request("POST /api/chat HTTP/1.1", "Content-Type: application/json", "Transfer-Encoding: chunked", *headers)


def chunks(_: str) -> Pieces:
    """A body in chunks of one byte, without login."""
    yield _chunked()
    yield from _repeat(b"1\r\nx\r\n")


def own_chunks(token: str) -> Pieces:
    """A body in chunks of one byte, with a login, so that the gateway reads it."""
    yield _chunked(f"Authorization: Bearer {token}")
    yield from _repeat(b"1\r\nx\r\n")


def extensions(_: str) -> Pieces:
    """One chunk whose extension never ends."""
    yield _chunked() + b"1;x="
    yield from _repeat(b"a")


def trailers(_: str) -> Pieces:
    yield _chunked() + b"0\r\n"
    yield from _repeat(b"A: b\r\n")


def headers(_: str) -> Pieces:
    """A request with endless headers."""
    yield _request("GET /healthz HTTP/1.1", end=False)
    yield from _repeat(b"A: b\r\n")


def long_header(_: str) -> Pieces:
    yield _request("GET /healthz HTTP/1.1", "A: ", end=False)[:-2]
    yield from _repeat(b"b")


def long_url(_: str) -> Pieces:
    yield b"GET /"
    yield from _repeat(b"%61")


def pipelined(_: str) -> Pieces:
    """Requests one after the other; their answers are never read."""
    yield from _repeat(_request("GET /api/me HTTP/1.1"))


def newlines(_: str) -> Pieces:
    """Endless empty lines, which HTTP allows before a request."""
    yield from _repeat(b"\r\n")


def body(_: str) -> Pieces:
    """A request without login that announces a huge body."""
    yield _request("POST /api/chat HTTP/1.1", "Content-Type: application/json", "Content-Length: 9000000000")
    yield from _repeat(b" ")


def _upgrade(token: str, *extra_headers: str) -> bytes:
    key = base64.b64encode(os.urandom(16)).decode()
    return _request(
        "GET /ws HTTP/1.1",
        "Upgrade: websocket",
        "Connection: Upgrade",
        f"Sec-WebSocket-Key: {key}",
        "Sec-WebSocket-Version: 13",
        *([f"Authorization: Bearer {token}"] if token else ()),
        *extra_headers,
    )


def _frame(head: int, payload: bytes = b"") -> bytes:
    """A masked frame. `head` is its first byte: FIN and opcode."""
    size = len(payload)
    length = bytes([0x80 | size]) if size < 126 else bytes([0xFE]) + size.to_bytes(2)
    return bytes([head]) + length + MASK + payload


def early_frames(_: str) -> Pieces:
    """Frames after a handshake that the gateway refuses."""
    yield _upgrade("")
    yield from _repeat(_frame(0x89))


def fragments(token: str) -> Pieces:
    """A message that never ends, in empty frames."""
    yield _upgrade(token)
    yield _frame(0x01)
    yield from _repeat(_frame(0x00))


def pings(token: str) -> Pieces:
    yield _upgrade(token)
    yield from _repeat(_frame(0x89, b"x" * 125))


def messages(token: str) -> Pieces:
    """Whole messages of two bytes."""
    yield _upgrade(token)
    yield from _repeat(_frame(0x81, b"{}"))


def bombs(token: str) -> Pieces:
    """Compressed messages of one megabyte each."""
    yield _upgrade(token, "Sec-WebSocket-Extensions: permessage-deflate")
    deflate = zlib.compressobj(9, zlib.DEFLATED, -12)
    packed = deflate.compress(bytes(1_000_000)) + deflate.flush(zlib.Z_FULL_FLUSH)
    yield from _repeat(_frame(0xC1, packed[:-4]))


FLOODS: dict[str, Callable[[str], Pieces]] = {
    flood.__name__: flood
    for flood in (
        *(chunks, own_chunks, extensions, trailers, headers, long_header, long_url, pipelined, newlines, body),
        *(early_frames, fragments, pings, messages, bombs),
    )
}


def send(name: str, address: str, token: str, until: float) -> int:
    """Flood on one connection after the other until this time; returns how many."""
    host, port = address.split(":")
    number = 0
    while time.monotonic() < until:
        number += 1
        with suppress(OSError), socket.create_connection((host, int(port)), timeout=5) as connection:
            for piece in FLOODS[name](token):
                connection.sendall(piece)
                if piece.startswith(b"GET /ws"):
                    connection.recv(65536)
                if time.monotonic() > until:
                    break
    return number


def main() -> None:
    os.nice(19)  # a real attacker would not use this machine's CPU
    name, address, token, seconds, connections = sys.argv[1:]
    until = time.monotonic() + float(seconds)
    threads = [threading.Thread(target=send, args=(name, address, token, until)) for _ in range(int(connections))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


if __name__ == "__main__":
    main()
