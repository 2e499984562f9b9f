"""Hostile HTTP clients: the gateway refuses bad requests at once with a reason, and closes slow connections."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from services.gateway.app import build
from services.gateway.live import http_protocol, websocket_protocol
from services.gateway.live.http_protocol import (
    MAX_FIELDS,
    MAX_FRAMING_BYTES,
    MAX_PIPELINED,
    MAX_URL_BYTES,
    PIECE_BYTES,
    HttpProtocol,
)
from services.gateway.rest.page import SAFE_HEADERS
from tests.support.gateway import SECRET, World, serving
from tests.support.http_client import http_client
from tests.support.timeouts import WAIT_TIMEOUT

KEYS = {"parley_auth": "keys", "parley_api_keys": "alice=ka,bob=kb", "parley_secret": SECRET}
POST = b"POST /api/sessions HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
CHUNKED = POST + b"Transfer-Encoding: chunked\r\n\r\n"
ALICE = b"Authorization: Bearer ka\r\n"
ME = b"GET /api/me HTTP/1.1\r\nHost: h\r\n" + ALICE + b"\r\n"


class Connection:
    """One TCP connection to which the test writes raw bytes."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    async def response(self) -> tuple[int, dict[str, str], bytes]:
        """Status, headers and body of the next response."""
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
        return int(head[0].split()[1]), headers, await self._reader.readexactly(int(headers["content-length"]))

    async def line(self) -> bytes:
        return await self._reader.readline()

    async def rest(self) -> bytes:
        """All bytes until the gateway closes the connection."""
        try:
            return await self._reader.read()
        except ConnectionError:
            return b""


@asynccontextmanager
async def connected(address: str) -> AsyncIterator[Connection]:
    host, port = address.split(":")
    async with asyncio.timeout(WAIT_TIMEOUT):
        reader, writer = await asyncio.open_connection(host, int(port))
        try:
            yield Connection(reader, writer)
        finally:
            writer.close()


@asynccontextmanager
async def gateway(**settings: Any) -> AsyncIterator[str]:
    async with serving(World(**(KEYS | settings)).app) as address:
        yield address


@pytest.fixture(autouse=True)
def short_linger(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(websocket_protocol, "LINGER_SECONDS", 0.2)


REFUSED = [
    (b"GET /" + b"a" * (MAX_URL_BYTES + 1), 414),
    (b"GET /" + b"a" * (MAX_URL_BYTES + 1) + b" HTTP/1.1\r\n\r\n", 414),
    (b"GET / HTTP/1.1\r\nA: " + b"a" * (MAX_FRAMING_BYTES + 2 * PIECE_BYTES), 431),
    (b"GET / HTTP/1.1\r\nA: " + b"a" * (MAX_FRAMING_BYTES + 1) + b"\r\n\r\n", 431),
    (b"GET / HTTP/1.1\r\n" + b"A: %b\r\n" % (b"b" * 700) * 100 + b"\r\n", 431),
    (b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * (MAX_FIELDS + 2), 431),
    (b"GET /\r\n\r\n", 400),
    (b"GET / HTTP/0.9\r\n\r\n", 400),
    (b"GET / HTTP/2.0\r\n\r\n", 400),
    (b"\r\n" * (MAX_FRAMING_BYTES // 2 + PIECE_BYTES), 431),
    (
        POST + ALICE + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\n \r\n" * (MAX_FRAMING_BYTES // 5 + PIECE_BYTES),
        431,
    ),
    (POST + ALICE + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"a" * (MAX_FRAMING_BYTES + 2 * PIECE_BYTES), 431),
    (POST + ALICE + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"A: b\r\n" * (MAX_FIELDS + 1), 431),
    (b"nonsense\r\n\r\n", 400),
    (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
    (b"CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n", 400),
    (POST + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400),
    (POST + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello", 400),
]


async def test_oversized_or_malformed_requests_are_refused_with_a_reason() -> None:
    async with gateway() as address:
        for number, (data, status) in enumerate(REFUSED):
            async with connected(address) as connection:
                await connection.send(data)
                actual, headers, body = await connection.response()
                problem = json.loads(body)
                assert (actual, headers["connection"]) == (status, "close"), number
                assert problem["message"]
                assert problem["hint"]
                assert headers.items() >= {name.lower(): value for name, value in SAFE_HEADERS.items()}.items()
                assert await connection.rest() == b""


async def test_a_body_in_small_chunks_is_accepted() -> None:
    body = json.dumps({"request": "A calculator " + "x" * 40_000}).encode()
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(body[at : at + 64]), body[at : at + 64]) for at in range(0, len(body), 64))
    async with gateway() as address, connected(address) as connection:
        await connection.send(POST + ALICE + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n" + ME)
        assert (await connection.response())[0] == 201
        assert (await connection.response())[0] == 200  # the connection stays open


async def test_many_chunks_do_not_delay_the_response() -> None:
    async with gateway() as address, connected(address) as connection:
        await connection.send(CHUNKED + b"1\r\n \r\n" * 200_000)
        assert (await connection.response())[0] == 401
        assert await connection.rest() == b""


async def test_trailers_are_ignored() -> None:
    async with gateway() as address, connected(address) as connection:
        await connection.send(CHUNKED + b"0\r\n" + ALICE + b"\r\n")
        assert (await connection.response())[0] == 401


async def test_pipelined_requests_are_limited() -> None:
    async with gateway() as address:
        async with connected(address) as connection:
            await connection.send(ME * MAX_PIPELINED)
            assert [(await connection.response())[0] for _ in range(MAX_PIPELINED)] == [200] * MAX_PIPELINED
        async with connected(address) as connection:
            await connection.send(ME * 5_000)
            assert (await connection.rest()).count(b"HTTP/1.1 200") <= MAX_PIPELINED


UNUSUAL = [
    b"GET /api/me HTTP/1.0\r\nHost: h\r\n",
    b"\r\nGET /api/me HTTP/1.1\r\nHost: h\r\n",
    b"GET http://h/api/me HTTP/1.1\r\nHost: h\r\n",
    b"GET /api/me HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: h2c\r\n",
    b"GET /api/me HTTP/1.1\r\nHost: h\r\nCookie: " + b"a" * 30_000 + b"\r\n",
    b"GET /api/me HTTP/1.1\r\nHost: h\r\n" + b"".join(b"A%d: b\r\n" % number for number in range(100)),
]


async def test_unusual_requests_are_answered_correctly() -> None:
    async with gateway() as address:
        for head in UNUSUAL:
            async with connected(address) as connection:
                await connection.send(head + ALICE + b"\r\n")
                assert (await connection.response())[0] == 200, head[:80]


async def test_the_gateway_asks_for_a_body_only_after_authentication() -> None:
    expecting = POST + b"Expect: 100-continue\r\nContent-Length: 30\r\n"
    async with gateway() as address:
        async with connected(address) as connection:
            await connection.send(expecting + b"\r\n")
            assert (await connection.response())[0] == 401
        async with connected(address) as connection:
            await connection.send(expecting + ALICE + b"\r\n")
            assert await connection.line() == b"HTTP/1.1 100 Continue\r\n"


async def test_a_large_body_is_refused_and_the_connection_stays_open() -> None:
    async with gateway() as address, connected(address) as connection:
        await connection.send(POST + ALICE + b"Content-Length: 400000\r\n\r\n" + b" " * 400_000 + ME)
        assert (await connection.response())[0] == 413
        assert (await connection.response())[0] == 200


async def test_an_invalid_handshake_closes_the_connection() -> None:
    upgrade = (
        b"POST /ws HTTP/1.1\r\nHost: h\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nTransfer-Encoding: chunked\r\n"
    )
    async with gateway() as address, connected(address) as connection:
        await connection.send(upgrade + b"\r\n" + b"\x81\x80\0\0\0\0" * 1_000)
        assert (await connection.response())[0] == 400
        assert await connection.rest() == b""


TIMED_OUT = b"HTTP/1.1 408 Request Timeout"
INCOMPLETE = [
    (b"", b""),
    (b"\r\n", b""),
    (b"GET /api/me HT", TIMED_OUT),
    (b"GET /api/me HTTP/1.1\r\nHost: h\r\nA: ", TIMED_OUT),
    (POST + ALICE + b"Content-Length: 50\r\n\r\n{", TIMED_OUT),
    (POST + b"Content-Length: 50\r\n\r\n{", b"HTTP/1.1 401 Unauthorized"),
    (POST + ALICE + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{", TIMED_OUT),
]


@pytest.mark.parametrize("before", [b"", ME], ids=["first", "second"])
async def test_an_incomplete_request_times_out(monkeypatch: pytest.MonkeyPatch, before: bytes) -> None:
    monkeypatch.setattr(http_protocol, "KEEP_ALIVE", 0.6)

    async def first_line(address: str, data: bytes) -> bytes:
        async with connected(address) as connection:
            if before:
                await connection.send(before)
                assert (await connection.response())[0] == 200
            await connection.send(data)
            return (await connection.rest()).split(b"\r\n")[0]

    async with gateway(request_timeout=0.3) as address:
        lines = await asyncio.gather(*(first_line(address, data) for data, _ in INCOMPLETE))
    assert lines == [expected for _, expected in INCOMPLETE]


async def test_a_slow_request_times_out() -> None:
    async with gateway(request_timeout=0.3) as address, connected(address) as connection:
        await connection.send(b"GET /api/me HTTP/1.1\r\n")

        async def drip() -> None:
            while True:
                await connection.send(b"A: b\r\n")
                await asyncio.sleep(0.05)

        dripping = asyncio.create_task(drip())
        assert (await connection.response())[0] == 408
        dripping.cancel()


async def test_a_client_that_does_not_read_the_response_is_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost = asyncio.Event()
    connection_lost = HttpProtocol.connection_lost

    def signal_lost(self: HttpProtocol, error: Exception | None) -> None:
        connection_lost(self, error)
        lost.set()

    monkeypatch.setattr(HttpProtocol, "connection_lost", signal_lost)
    (tmp_path / "index.html").touch()
    (tmp_path / "large.js").write_bytes(bytes(30_000_000))
    world = World(request_timeout=0.3)
    app = build(world.settings, world.bus, world.store, world.log, page=tmp_path)
    async with serving(app) as address, connected(address) as connection:
        await connection.send(b"GET /large.js HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        await lost.wait()


async def test_the_oldest_idle_connection_is_closed_for_a_new_one() -> None:
    async with gateway(max_idle_connections=2) as address, AsyncExitStack() as stack:
        oldest, *others = [await stack.enter_async_context(connected(address)) for _ in range(3)]
        assert await oldest.rest() == b""
        for connection in others:
            await connection.send(ME)
            assert (await connection.response())[0] == 200


async def test_authentication_precedes_the_body() -> None:
    async with gateway() as address, http_client(base_url=f"http://{address}") as http:
        json_ = {"content-type": "application/json"}
        for path in (
            "/api/chat",
            "/api/sessions",
            "/api/planning/plan",
            "/api/sessions/s/messages",
            "/api/no",
            "/api/",
        ):
            assert (await http.post(path, content=b"{broken", headers=json_)).status_code == 401, path
            assert (await http.post(path, content=b" " * 300_000, headers=json_)).status_code == 401, path
        assert (await http.get("/healthz")).status_code == 200
