"""The pack `http`, called through the executor's registry, against well-behaved and hostile servers on localhost."""

import asyncio
import gzip
import json
import socket
import ssl
from asyncio import StreamWriter
from collections.abc import Callable, Sequence
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest

from packs.http.addresses import system_resolver
from services.executor.tools import ToolInvocation
from tests.support.http_server import Answer, Authority, HttpServer, Received, http_server, moved, response
from tests.support.http_tools import KEY, LIMITS, METHODS, SESSION, Names, asked, call, tools

SHORT_TIMEOUT = LIMITS._replace(timeout=0.3)


# --- requests and their results


async def echo(request: Received, writer: StreamWriter) -> None:
    result = request._asdict() | {"body": request.body.decode()}
    writer.write(response(json.dumps(result).encode(), "Content-Type: application/json"))


async def test_a_read_returns_json_or_text_and_refuses_other_content() -> None:
    answers: dict[str, Answer] = {
        "json": response(gzip.compress(b'{"a": 1}'), "Content-Type: application/json", "Content-Encoding: gzip"),
        "text": response("é".encode("latin-1"), "Content-Type: text/plain; charset=latin-1"),
        "image": response(b"\x89PNG\xff", "Content-Type: image/png"),
    }
    async with http_server(None, **answers) as server:
        result = await asked(server, path="/json")
        assert result.value == {
            "status": 200,
            "url": server.url("/json"),
            "content_type": "application/json",
            "json": {"a": 1},
            "text": "",
            "omitted": "",
        }
        assert (await asked(server, path="/text")).value["text"] == "é"  # type: ignore[index, call-overload]
        image = await asked(server, path="/image")
        assert (image.ok, image.unknown) == (False, False)
        assert "The content is no text: 5 bytes of image/png." in image.error
        head = await asked(server, "HEAD", "/image")
        assert isinstance(head.value, dict)
        assert (head.ok, head.value["content_type"]) == (True, "image/png")


@pytest.mark.parametrize(
    ("arguments", "content_type", "body"),
    [
        ({"body": {"a": ["é"]}}, "application/json", '{"a": ["é"]}'),
        ({"body": "plain"}, "text/plain; charset=utf-8", "plain"),
        ({"body": "<a/>", "content_type": "application/xml"}, "application/xml", "<a/>"),
        ({}, None, ""),
    ],
)
async def test_a_write_sends_its_body_and_an_idempotency_key(
    arguments: dict[str, Any], content_type: str | None, body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with http_server(x=echo) as server:
        registry = await tools({"origin": server.url(""), "methods": METHODS})
        for method in ("POST", "PUT", "PATCH", "DELETE"):
            result = await call(registry, method, server.url("/x?a=b"), accept="application/json", **arguments)
            assert result.ok, result.error
        read = await call(registry, "GET", server.url("/x"))
        assert read.ok
        for request in server.received[:-1]:
            assert (request.target, request.body.decode()) == ("/x?a=b", body)
            assert request.headers.get("content-type") == content_type
            assert request.headers["idempotency-key"] == KEY
            assert request.headers["accept"] == "application/json"
        assert "idempotency-key" not in server.received[-1].headers


@pytest.mark.parametrize(
    "arguments",
    [
        {"accept": "a\r\nX-Evil: 1"},
        {"accept": "é"},
        {"content_type": "text/plain\nX-Evil: 1", "body": "x"},
        {"body": "\ud800"},
        {"body": {"x": float("inf")}},
        {"headers": {"X-Evil": "1"}},
        {"url": "https://a.test:x/"},
        {"url": "http://127.0.0.1/" + "a" * 2000},
    ],
    ids=str,
)
async def test_arguments_that_make_no_valid_request_are_refused(arguments: dict[str, Any]) -> None:
    async with http_server() as server:
        registry = await tools({"origin": server.url(""), "methods": METHODS})
        tool = registry.find("send_request")
        assert tool
        result = await tool.run(ToolInvocation(SESSION, KEY, {"url": server.url("/x"), "method": "POST", **arguments}))
        assert (result.ok, result.unknown, server.received) == (False, False, [])
        assert result.error.startswith("Error: ")


async def test_secrets_are_sent_to_their_server_only_and_masked_in_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TOKEN", "open-sesame-42")

    async def quote(request: Received, writer: StreamWriter) -> None:
        secret = request.headers["authorization"]
        body = json.dumps({secret: [f"you sent {secret}"]}).encode()
        status = {"/bad": "400 Bad", "/broken": "500 Broken"}.get(request.target, "200 OK")
        long = "x" * 160 + secret
        writer.write(response(body, f"Content-Type: application/json; {long}", status=f"{status} {long[80:]}"))

    async with http_server(x=quote, bad=quote, broken=quote) as server, http_server(y=echo) as other_server:
        server.answers["/away"] = moved(other_server.url("/y"), 302)
        server.answers["/back"] = moved("/x?open-sesame-42", 302)
        headers = {"Authorization": "Bearer ${SHOP_TOKEN}"}
        entry = {"origin": server.url(""), "methods": METHODS, "headers": headers}
        registry = await tools(entry, {"origin": other_server.url("")})
        result = [await call(registry, "GET", server.url(path)) for path in ("/x", "/bad", "/broken", "/away", "/back")]
        result += [await call(registry, "POST", server.url(path)) for path in ("/x", "/bad", "/broken")]
        assert [item.ok for item in result] == [True, False, False, True, True, True, False, False]
        assert "open-s" not in str(result), "a truncated text does not contain the beginning of the secret either"
        assert all("you sent" in str(item) and "***" in str(item) for item in result if item is not result[3])
        assert "open-sesame-42" not in str([(tool.spec.description, tool.spec) for tool in registry.all().values()])
        assert {item.headers["authorization"] for item in server.received} == {"Bearer open-sesame-42"}
        assert [item.headers.get("authorization") for item in other_server.received] == [None]


# --- allowed addresses


@pytest.mark.parametrize(
    "addresses",
    [
        *("127.0.0.1", "169.254.169.254", "10.0.0.1", "100.64.0.1", "0.0.0.0", "::1", "fe80::1%lo"),
        *("::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "224.0.0.1"),
        *("93.184.216.34 127.0.0.1", "2606:4700:4700::1111 ::1"),
    ],
)
async def test_a_name_that_resolves_to_a_private_address_is_refused(addresses: str) -> None:
    async with http_server(x=response(b"inside")) as server:
        origin = server.url("", host="shop.test")
        registry = await tools({"origin": origin, "methods": METHODS}, resolver=Names(shop_test=addresses))
        for method in ("GET", "POST"):
            result = await call(registry, method, f"{origin}/x")
            assert (result.ok, result.unknown) == (False, False)
            private = ip_address(addresses.rsplit(maxsplit=1)[-1])
            assert f"Error: shop.test leads to {private}, which is not a public address" in result.error
            assert "PARLEY_HTTP_ALLOW" in result.error
        assert server.received == []


@pytest.mark.parametrize("host", ["127.1", "0x7f.1", "2130706433", "localhost"])
async def test_an_address_in_unusual_notation_is_checked_as_the_system_resolves_it(host: str) -> None:
    async with http_server(x=response(b"inside")) as server:
        origin = server.url("", host=host)
        result = await call(await tools({"origin": origin}, resolver=system_resolver), "GET", f"{origin}/x")
        assert f"Error: {host} leads to " in result.error
        assert server.received == []
        named = {"origin": server.url("")}
        refused = await call(await tools(named), "GET", f"{origin}/x")
        assert (
            f"Error: GET {origin} is not allowed. PARLEY_HTTP_ALLOW allows: GET, HEAD {server.url('')}" in refused.error
        )


async def test_an_allowed_address_and_a_name_marked_private_are_reached() -> None:
    async with http_server(x=response(b"inside")) as server:
        assert (await asked(server)).ok
        names = Names(shop_test="127.0.0.2 127.0.0.1")  # no server listens at the first
        origin = server.url("", host="shop.test")
        result = await call(await tools({"origin": origin, "private": True}, resolver=names), "GET", f"{origin}/x")
        assert result.ok, result.error
        assert server.received[-1].headers["host"] == f"shop.test:{server.port}"
        assert names.asked == ["shop.test"], "a second resolution could give another address"


async def test_an_unknown_name_is_a_failure() -> None:
    registry = await tools({"origin": "http://none.test", "methods": METHODS}, resolver=Names(empty_test=""))
    result = await call(registry, "POST", "http://none.test/")
    assert (result.unknown, result.error) == (False, "The name none.test cannot be resolved: none.test is not known.")
    registry = await tools({"origin": "http://empty.test"}, resolver=Names(empty_test=""))
    assert "empty.test has no address" in (await call(registry, "GET", "http://empty.test/")).error


async def test_the_certificate_must_match_the_name(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    names = Names(shop_test="127.0.0.1", other_test="127.0.0.1")
    async with http_server(authority.server("shop.test"), x=response(b"safe")) as server:
        urls = [server.url("", host=host, scheme="https") for host in ("shop.test", "other.test", "127.0.0.1")]
        entries = [{"origin": url, "methods": METHODS, "private": True} for url in urls]
        registry = await tools(*entries, resolver=names, verify=authority.trusting())
        good = await call(registry, "POST", f"{urls[0]}/x")
        assert good.ok, good.error
        assert server.received[0].headers["host"] == f"shop.test:{server.port}"
        assert server.names == ["shop.test"]
        for url in urls[1:]:
            wrong = await call(registry, "POST", f"{url}/x")
            assert (wrong.ok, wrong.unknown) == (False, False), "nothing was sent"
            assert "CERTIFICATE_VERIFY_FAILED" in wrong.error
        strange = await call(await tools(*entries, resolver=names), "POST", f"{urls[0]}/x")
        assert "CERTIFICATE_VERIFY_FAILED" in strange.error, "the system does not trust this certificate authority"
        assert len(server.received) == 1


async def test_a_server_that_demands_a_certificate_breaks_the_exchange_off(tmp_path: Path) -> None:
    """By TLS 1.3 it says so only after the handshake, when the request has been sent."""
    authority = Authority(tmp_path)
    context = authority.server("shop.test")
    context.verify_mode = ssl.CERT_REQUIRED
    with socket.create_server(("127.0.0.1", 0)) as listening:  # asyncio's servers close without the alert
        url = f"https://shop.test:{listening.getsockname()[1]}"
        entry = {"origin": url, "methods": METHODS, "private": True}
        registry = await tools(entry, resolver=Names(shop_test="127.0.0.1"), verify=authority.trusting())
        for method, unknown in (("GET", False), ("POST", True)):
            refusing = asyncio.create_task(asyncio.to_thread(demand_certificate, listening, context))
            result = await call(registry, method, f"{url}/x")
            assert (result.ok, result.unknown) == (False, unknown)
            assert f"{method} {url}/x broke off: " in result.error
            assert "CERTIFICATE_REQUIRED" in result.error
            await refusing


def demand_certificate(listening: socket.socket, context: ssl.SSLContext) -> None:
    """Accept one connection and refuse its missing certificate, then read until the client has closed it."""
    accepted, _ = listening.accept()
    with accepted:
        secured = context.wrap_socket(accepted.dup(), server_side=True, do_handshake_on_connect=False)
        with secured, pytest.raises(ssl.SSLError):
            secured.do_handshake()
        with suppress(ConnectionError):
            while accepted.recv(10_000):
                pass


# --- failures and unknown outcomes


async def no_answer(_: Received, writer: StreamWriter) -> None:
    """Close the connection without an answer."""


async def cut_body(_: Received, writer: StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf")


CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n"


async def test_a_few_interim_responses_are_skipped_before_a_large_one(tmp_path: Path) -> None:
    authority, answer = Authority(tmp_path), CONTINUE * 3 + HINTS + response(b"a" * 500_000)
    more = {"limits": LIMITS._replace(max_bytes=1_000_000), "resolver": Names(shop_test="127.0.0.1")}
    async with http_server(x=answer) as server, http_server(authority.server("shop.test"), x=answer) as safe:
        urls = [server.url(""), safe.url("", host="shop.test", scheme="https")]
        entries = [{"origin": url, "private": True} for url in urls]
        registry = await tools(*entries, verify=authority.trusting(), **more)
        for url in urls:
            result: Any = await call(registry, "GET", f"{url}/x")
            assert result.ok, result.error
            assert len(result.value["text"]) == 500_000
        safe.answers["/x"] = CONTINUE * 10_000 + answer
        assert "bytes before its response" in (await call(registry, "GET", f"{urls[1]}/x")).error


async def endless(_: Received, writer: StreamWriter) -> None:
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\n")
    while True:
        writer.write(b"a" * 10_000)
        await writer.drain()


@pytest.mark.parametrize(
    ("answer", "unknown", "why"),
    [
        (response(b"no such thing", status="404 Not Found"), False, "404 Not Found. It says: no such thing"),
        (response(b"\xff", status="409 Conflict"), False, "409 Conflict."),
        (response(b"a" * 200_000, status="422 Wrong"), False, "422 Wrong."),
        (response(status="500 Broken"), True, "500 Broken"),
        (response(status="503 Busy"), True, "503 Busy"),
        (response(status="304 Same"), True, "304 Same"),
        (response(status="302 No Location"), True, "302 No Location"),
        (no_answer, True, "broke off: Server disconnected"),
        (cut_body, True, "broke off: "),
        (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 300_000 + b"\r\n\r\n", True, "broke off: "),
        (b"SSH-2.0-OpenSSH_9.9\r\n\r\n", True, "broke off: "),
        (CONTINUE * 10_000 + response(b"late"), True, "broke off: The server sent more than 200,000 bytes before"),
    ],
    ids=lambda value: value[:20] if isinstance(value, bytes) else None,
)
async def test_a_failed_write_has_an_unknown_outcome_unless_the_server_refused_it(
    answer: Answer, unknown: bool, why: str
) -> None:
    async with http_server(x=answer) as server:
        for method in ("POST", "DELETE", "GET"):
            result = await asked(server, method)
            assert (result.ok, result.unknown) == (False, unknown and method != "GET"), method
            assert why in result.error


async def test_a_write_to_an_unreachable_server_has_certainly_failed() -> None:
    async with http_server() as server:
        pass
    result = await asked(server, "POST")
    assert (result.ok, result.unknown) == (False, False)
    assert f"{server.url('')} cannot be connected to" in result.error


async def bomb(_: Received, writer: StreamWriter) -> None:
    """Send 100 MB, compressed to 100 kB."""
    writer.write(response(gzip.compress(bytes(100_000_000)), "Content-Encoding: gzip"))


@pytest.mark.parametrize("answer", [bomb, endless])
async def test_a_body_is_read_up_to_the_limit(answer: Answer) -> None:
    """A read fails. A write succeeds: the server's status came before the body exceeded the limit."""
    async with http_server(x=answer) as server:
        read = await asked(server)
        assert (read.ok, read.unknown) == (False, False)
        assert "more than 100,000 bytes" in read.error
        written = await asked(server, "POST")
        assert isinstance(written.value, dict)
        assert (written.ok, written.value["omitted"]) == (True, "The content has more than 100,000 bytes.")


def stalling(before: bytes) -> Callable[[HttpServer], Answer]:
    """An answer that sends these bytes, then nothing until the server is stopped."""

    def answer_of(server: HttpServer) -> Answer:
        async def answer(_: Received, writer: StreamWriter) -> None:
            writer.write(before)
            await writer.drain()
            await server.stopped.wait()

        return answer

    return answer_of


def dripping(server: HttpServer) -> Answer:
    """An answer whose body is one byte every 10 ms until the server is stopped."""

    async def answer(_: Received, writer: StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while not server.stopped.is_set():
            writer.write(b"a")
            await writer.drain()
            await asyncio.sleep(0.01)

    return answer


@pytest.mark.parametrize(
    "stalls",
    [stalling(b""), stalling(b"HTTP/1.1 200 OK\r\nX: "), stalling(b"HTTP/1.1 200 OK\r\n\r\nhalf"), dripping],
    ids=["nothing", "headers", "body", "drops"],
)
async def test_a_call_of_a_slow_server_times_out(stalls: Callable[[HttpServer], Answer]) -> None:
    async with http_server() as server:
        server.answers["/x"] = stalls(server)
        for method, unknown in (("GET", False), ("POST", True)):
            result = await asked(server, method, limits=SHORT_TIMEOUT)
            assert (result.ok, result.unknown) == (False, unknown)
            assert f"{method} {server.url('/x')} did not end within 0.3 seconds." in result.error


async def test_a_refusal_with_an_unfinished_body_is_a_refusal() -> None:
    async with http_server() as server:
        server.answers["/x"] = stalling(b"HTTP/1.1 403 Forbidden\r\n\r\nbecause")(server)
        result = await asked(server, "POST", limits=LIMITS._replace(excerpt_timeout=0.1))
        assert (result.unknown, result.error) == (False, f"POST {server.url('/x')} was answered with 403 Forbidden.")


async def test_a_slow_name_resolution_times_out() -> None:
    async def resolver(_: str, __: int) -> Sequence[str]:
        await asyncio.Event().wait()
        return ()

    registry = await tools({"origin": "http://a.test", "methods": ["POST"]}, resolver=resolver, limits=SHORT_TIMEOUT)
    result = await call(registry, "POST", "http://a.test/")
    assert (result.ok, result.unknown) == (False, False), "nothing was sent"
