"""The pack `http` without a server: allowed addresses and URLs, decoding of bodies, the setting."""

import gzip
import json
import tracemalloc
from collections.abc import AsyncIterator
from ipaddress import ip_address
from typing import Any

import httpx2
import pytest

from packs.http.addresses import is_public
from packs.http.allow_list import BadAllowList, RequestNotAllowed, read_allow_list
from packs.http.body import Content, UnreadableContent, decode_content, read_content
from packs.http.pack import HttpPack
from parley import Tool
from shared.logging import conceal
from shared.settings import Settings


def allow_list(*items: dict[str, Any] | str) -> str:
    return json.dumps([{"origin": item} if isinstance(item, str) else item for item in items])


@pytest.mark.parametrize(
    "address", ["8.8.8.8", "2606:4700:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::"]
)
def test_internet_addresses_are_public(address: str) -> None:
    assert is_public(ip_address(address))


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.0.0.1", "172.16.0.1", "192.168.0.1", "169.254.169.254", "100.64.0.1", "0.0.0.0"),
        *("224.0.0.1", "240.0.0.1", "255.255.255.255", "192.0.2.1", "198.18.0.1"),
        *("::1", "::", "fe80::1", "fe80::1%eth0", "fc00::1", "ff02::1", "ff0e::1", "2001:db8::1", "100::1", "fec0::1"),
        *("::ffff:127.0.0.1", "::127.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::7f00:1", "2002:7f00:1::"),
        *("2001:0:7f00:1::", "2001:0:808:808:0:0:80ff:fffe"),  # Teredo: the server, the client (inverted)
    ],
)
def test_all_other_addresses_are_not_public(address: str) -> None:
    assert not is_public(ip_address(address))


ALLOWED = read_allow_list(
    allow_list(
        {"origin": "https://API.example.org", "methods": ["GET", "POST"]},
        "http://[0:0::1]:8080",
        "http://10.0.0.5",
        "https://bücher.example",
    )
)


@pytest.mark.parametrize(
    ("method", "url"),
    [
        ("GET", "https://api.example.org/a?b"),
        ("POST", "HTTPS://API.EXAMPLE.ORG:443/"),
        ("HEAD", "http://[::1]:8080/x"),
        ("GET", "https://xn--bcher-kva.example/"),
    ],
)
def test_a_listed_origin_is_allowed(method: Any, url: str) -> None:
    assert ALLOWED.entry(method, httpx2.URL(url))


@pytest.mark.parametrize(
    ("method", "url", "why"),
    [
        ("PUT", "https://api.example.org/", "PUT https://api.example.org is not allowed"),
        ("GET", "http://api.example.org/", "GET http://api.example.org is not allowed"),
        ("GET", "https://api.example.org:8443/", "GET https://api.example.org:8443 is not allowed"),
        ("GET", "https://api.example.org:0/", "GET https://api.example.org:0 is not allowed"),
        ("GET", "https://api.example.org.evil.test/", "is not allowed"),
        ("GET", "https://api.example.org./", "is not allowed"),
        ("GET", "https://user:pass@api.example.org/", "no user name and no password"),
        ("GET", "https://api.example.org\\@evil.test/", "no user name and no password"),
        ("GET", "ftp://api.example.org/", "begins with http"),
        ("GET", "file:///etc/passwd", "begins with http"),
        ("GET", "//api.example.org/", "begins with http"),
        ("GET", "https:///x", "names no host"),
        *(
            ("GET", f"http://{host}/", "is not allowed")
            for host in ("127.0.0.1", "127.1", "0x7f.1", "2130706433", "169.254.169.254", "[::ffff:10.0.0.5]", "10.5")
        ),
    ],
)
def test_the_refusal_of_other_urls_names_the_allowed_ones(method: Any, url: str, why: str) -> None:
    with pytest.raises(
        RequestNotAllowed, match=r"PARLEY_HTTP_ALLOW allows: GET, POST https://api\.example\.org; "
    ) as refused:
        ALLOWED.entry(method, httpx2.URL(url))
    assert why in str(refused.value)
    assert "pass@" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("nonsense", "Write a JSON list"),
        ('{"origin": "https://a.test"}', "Write a JSON list"),
        (allow_list({"origin": "https://a.test", "method": ["GET"]}), r"\[0\].method: "),
        (allow_list({"origin": "https://a.test", "methods": []}), r"\[0\].methods: "),
        (allow_list({"origin": "https://a.test", "methods": ["CONNECT"]}), r"\[0\].methods\[0\]: "),
        (allow_list("https://a.test", "https://A.test:443"), r"\[1\].origin: https://a.test is there already"),
        *(
            (allow_list(origin), r"\[0\].origin: write scheme, host and port alone")
            for origin in (
                *(
                    "a.test",
                    "ftp://a.test",
                    "https://a.test/path",
                    "https://a.test?x",
                    "https://a:b@c.test",
                    "https://",
                ),
                *("https://*.a.test", "https://a.test:99999999", "https://a.test:0", "https://a%2etest", ""),
            )
        ),
        *(
            (allow_list({"origin": "https://a.test", "headers": {name: value}}), why)
            for name, value, why in (
                ("Authorization", "Bearer abcdefghijkl", "as \\${NAME}"),
                ("Authorization", "${MISSING}", "has no MISSING of 8 or more"),
                ("Authorization", "${SHORT}", "has no SHORT of 8 or more"),
                ("Authorization", "${LINES}", "characters that no header may have"),
                ("Host", "${TOKEN}", "no header that can be set here"),
                ("X Y", "${TOKEN}", "no header that can be set here"),
            )
        ),
    ],
)
def test_the_error_for_an_invalid_setting_says_what_to_do_and_has_no_secret(text: str, why: str) -> None:
    variables = {"SHORT": "secret", "LINES": "secret-1\r\nX: y", "TOKEN": "secret-22"}
    with pytest.raises(BadAllowList, match=why) as refused:
        read_allow_list(text, variables.get)
    assert "secret-" not in str(refused.value)
    assert "abcdefghijkl" not in str(refused.value)


@pytest.mark.parametrize(
    "encoded", ['tok"en/+<&>12', 'tok\\"en/+<&>12', "tok%22en/%2B%3C%26%3E12", "tok&quot;en/+&lt;&amp;&gt;12"]
)
def test_secrets_are_masked_in_every_encoding(encoded: str) -> None:
    item = {"origin": "https://a.test", "headers": {"X-Key": "key ${TOKEN}"}}
    entry = read_allow_list(allow_list(item), {"TOKEN": 'tok"en/+<&>12'}.get).entry("GET", httpx2.URL("https://a.test"))
    assert entry.headers == {"X-Key": 'key tok"en/+<&>12'}
    assert "***" in conceal(f"you sent {encoded}!")
    assert encoded not in conceal(f"you sent {encoded}!")


def test_the_password_within_basic_credentials_is_masked() -> None:
    item = {"origin": "https://a.test", "headers": {"Authorization": "${BASIC}"}}
    read_allow_list(allow_list(item), {"BASIC": "Basic c2hvcDpvcGVuc2VzYW1l"}.get)
    assert conceal("not opensesame") == "not ***"


async def tools_with(setting: str) -> dict[str, Tool[Any]]:
    pack = HttpPack()
    await pack.open(Settings(parley_http_allow=setting))
    return {tool.name: tool for tool in pack.tools}


async def test_only_tools_with_an_allowed_method_exist() -> None:
    assert await tools_with("") == {}
    assert await tools_with("[]") == {}
    assert list(await tools_with(allow_list("https://a.test"))) == ["fetch_url"]
    assert list(await tools_with(allow_list({"origin": "https://a.test", "methods": ["PUT"]}))) == ["send_request"]
    both = await tools_with(allow_list({"origin": "https://a.test", "methods": ["GET", "PUT"]}))
    assert {name: (tool.effect, tool.keyed) for name, tool in both.items()} == {
        "fetch_url": ("read", False),
        "send_request": ("irreversible", False),
    }
    assert "Allowed: PUT https://a.test." in both["send_request"].description


async def test_the_check_reports_urls_that_are_not_allowed_before_the_call() -> None:
    check = (await tools_with(allow_list("https://a.test")))["fetch_url"].check
    fetch = (await tools_with(allow_list("https://a.test")))["fetch_url"]
    assert check
    assert list(check(fetch.parsed({"url": "https://a.test/x"}), ())) == []
    (why,) = check(fetch.parsed({"url": "https://b.test/x"}), ())
    assert "GET https://b.test is not allowed. PARLEY_HTTP_ALLOW allows: GET, HEAD https://a.test." in why
    (why,) = check(fetch.parsed({"url": "https://a.test:x/"}), ())
    assert "this is no URL" in why


@pytest.mark.parametrize(
    ("body", "content_type", "content"),
    [
        (b'{"a": [1]}', "application/json", Content(data={"a": [1]})),
        (b"[1]", "application/problem+json; charset=utf-8", Content(data=[1])),
        (b'{"a": ', "application/json", Content(text='{"a": ')),
        (b"[" * 70 + b"]" * 70, "application/json", Content(text="[" * 70 + "]" * 70)),
        ("é".encode("latin-1"), "text/plain; charset=ISO-8859-1", Content(text="é")),
        ("é".encode(), 'text/plain; charset="utf-8"', Content(text="é")),
        ("あ".encode("shift_jis"), "text/html;charset=Shift_JIS", Content(text="あ")),
        (b"a\xff", "text/plain", Content(text="a\ufffd")),
        (b"a+AGE-", "text/plain; charset=utf-7", Content(text="a+AGE-")),
        (b"\\u0041", "text/plain; charset=unicode_escape", Content(text="\\u0041")),
        (b"a,b", "text/csv; charset=nonsense", Content(text="a,b")),
        (b"plain", "", Content(text="plain")),
        (b"", "", Content()),
    ],
)
def test_a_body_is_decoded_by_its_content_type(body: bytes, content_type: str, content: Content) -> None:
    assert decode_content(body, content_type) == content


@pytest.mark.parametrize(("body", "content_type"), [(b"\x89PNG\r\n\xff", "image/png"), (b"a\0b", ""), (b"\xff", "x/y")])
def test_the_error_for_binary_content_names_its_size_and_type(body: bytes, content_type: str) -> None:
    with pytest.raises(UnreadableContent, match=f"no text: {len(body)} bytes of {content_type or 'no type'}"):
        decode_content(body, content_type)


class Parts(httpx2.AsyncByteStream):
    """A body in parts; `taken` counts the parts that were read."""

    def __init__(self, *parts: bytes) -> None:
        self.parts = parts
        self.taken = 0

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for part in self.parts:
            self.taken += 1
            yield part


async def decoded(stream: Parts, encoding: str = "gzip") -> bytes:
    return await read_content(httpx2.Response(200, headers={"content-encoding": encoding}, stream=stream), 1000)


async def test_gzip_is_decoded_in_pieces_and_with_several_members() -> None:
    packed = gzip.compress(b"one ") + gzip.compress(b"two")
    for size in (1, 7, 1000):
        pieces = [packed[start : start + size] for start in range(0, len(packed), size)]
        assert await decoded(Parts(*pieces)) == b"one two"
    assert await decoded(Parts()) == b""
    assert await decoded(Parts(b"a" * 1000), "") == b"a" * 1000


@pytest.mark.parametrize(
    ("parts", "encoding", "why"),
    [
        ((gzip.compress(b"a" * 1001),), "gzip", "more than 1,000 bytes"),
        ((gzip.compress(bytes(50_000_000)), b"never"), "x-gzip", "more than 1,000 bytes"),
        ((gzip.compress(b"") * 100, b"never"), "gzip", "more than 1,000 bytes"),
        ((b"a" * 999, b"bb", b"never"), "identity", "more than 1,000 bytes"),
        ((gzip.compress(b"all of it")[:-4],), "gzip", "ends in the middle"),
        ((b"plain",), "gzip", "not the gzip that it says"),
        ((b"",), "br", "was not asked for"),
        ((b"",), "gzip, gzip", "was not asked for"),
    ],
)
async def test_reading_stops_at_a_body_that_is_too_large_or_wrongly_encoded(
    parts: tuple[bytes, ...], encoding: str, why: str
) -> None:
    stream = Parts(*parts)
    with pytest.raises(UnreadableContent, match=why):
        await decoded(stream, encoding)
    assert b"never" not in parts[: stream.taken]


async def test_decompression_of_a_small_body_stays_within_the_memory_limit() -> None:
    stream = Parts(gzip.compress(bytes(50_000_000)))
    tracemalloc.start()
    try:
        with pytest.raises(UnreadableContent):
            await decoded(stream)
        assert tracemalloc.get_traced_memory()[1] < 1_000_000
    finally:
        tracemalloc.stop()
