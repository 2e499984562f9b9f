"""How the pack `http` follows redirects: with which method, how many, and to which servers."""

from typing import Any

import pytest

from tests.support.http_server import http_server, moved, response
from tests.support.http_tools import METHODS, Names, asked, call, tools


@pytest.mark.parametrize(
    ("status", "method", "next_method"),
    [
        *((status, "GET", "GET") for status in (301, 302, 303, 307, 308)),
        *((status, "HEAD", "HEAD") for status in (301, 303, 307)),
        *((status, "POST", "GET") for status in (301, 302, 303)),
        *((status, "POST", "POST") for status in (307, 308)),
        *((status, method, method) for status in (307, 308) for method in ("PUT", "DELETE")),
        *(((303, method, "GET")) for method in ("PUT", "PATCH", "DELETE")),
    ],
)
async def test_the_status_of_a_redirect_decides_the_next_method(status: int, method: str, next_method: str) -> None:
    async with http_server(x=moved("/y#part", status), y=response(b"there")) as server:
        arguments: dict[str, Any] = {} if method in ("GET", "HEAD") else {"body": {"a": 1}}
        registry = await tools({"origin": server.url(""), "methods": METHODS})
        result = await call(registry, method, server.url("/x"), **arguments)
        assert isinstance(result.value, dict), result.error
        assert result.value["url"] == server.url("/y")
        first, second = server.received
        assert (first.method, second.method) == (method, next_method)
        resends_body = next_method not in ("GET", "HEAD")
        assert (second.body, "content-type" in second.headers) == (first.body if resends_body else b"", resends_body)
        assert ("idempotency-key" in second.headers) is resends_body


@pytest.mark.parametrize("status", [301, 302])
@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE"])
async def test_a_redirect_that_may_mean_done_never_repeats_a_write(status: int, method: str) -> None:
    """A server may answer `DELETE /things/5` with a redirect to the list: `DELETE /things` would be another deed."""
    async with http_server(x=moved("/things?key=1", status), things=response(b"all")) as server:
        result = await asked(server, method)
        assert (result.ok, result.unknown, len(server.received)) == (False, True, 1)
        assert f"redirected with {status} to {server.url('/things')}, which does not say" in result.error


async def test_at_most_three_redirects_are_followed() -> None:
    async with http_server(a=moved("/b", 302), b=moved("c", 302), c=moved("/d", 302), d=response(b"end")) as server:
        assert (await asked(server, path="/a")).ok
        server.answers["/d"] = moved("/a", 302)
        result = await asked(server, path="/a")
        assert "redirected more than 3 times" in result.error
        assert [item.target for item in server.received] == ["/a", "/b", "/c", "/d"] * 2


@pytest.mark.parametrize(
    ("location", "why"),
    [
        ("http://shop.test/", "shop.test leads to 10.0.0.1"),
        ("http://169.254.169.254/latest", "GET http://169.254.169.254 is not allowed"),
        ("http://[::ffff:127.0.0.1]:1/", "GET http://[::ffff:7f00:1]:1 is not allowed"),
        ("file:///etc/passwd", "begins with http"),
        ("//user:pass@shop.test/", "no user name"),
        ("http://a:x/", "invalid URL"),
    ],
)
async def test_the_target_of_a_redirect_must_be_allowed_too(location: str, why: str) -> None:
    async with http_server(read=moved(location, 302), taken=moved(location, 303), again=moved(location, 307)) as server:
        entries = {"origin": server.url(""), "methods": METHODS}, {"origin": "http://shop.test"}
        registry = await tools(*entries, resolver=Names(shop_test="10.0.0.1"))
        read = await call(registry, "GET", server.url("/read"))
        assert (read.ok, read.unknown) == (False, False)
        assert why.replace("[::ffff:7f00:1]", "[::ffff:127.0.0.1]") in read.error.replace("7f00:1", "127.0.0.1")
        assert (await call(registry, "POST", server.url("/taken"))).unknown, "the server may have made the change"
        again = await call(registry, "POST", server.url("/again"))
        assert (again.ok, again.unknown) == (False, False)


async def test_a_redirected_change_is_uncertain_unless_the_last_response_succeeds() -> None:
    async with http_server(x=moved("/y", 303), y=moved("/z", 302), z=response(status="404 Gone")) as server:
        assert (await asked(server, "POST")).unknown
        server.answers["/z"] = response(b"done")
        assert (await asked(server, "POST")).ok


async def test_a_change_is_not_redirected_to_another_server_even_an_allowed_one() -> None:
    async with http_server() as other, http_server(x=moved(other.url("/y"), 307)) as server:
        entries = [{"origin": item.url(""), "methods": METHODS} for item in (server, other)]
        result = await call(await tools(*entries), "DELETE", server.url("/x"))
        assert (result.ok, result.unknown, other.received) == (False, False, [])
        assert f"redirected to another server, {other.url('')}" in result.error
