"""One HTTP exchange: over checked addresses, through at most three redirects, within limits.

Each hop opens its own connection: a reused one could serve another name at the same address without a check of its
certificate. Cookies, proxies and credentials of the environment are not used.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from ipaddress import ip_address
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx2
from pydantic import BaseModel, Field, JsonValue

from packs.http.addresses import Address, Resolver, literal, system_resolver
from packs.http.allow_list import SETTING, WRITES, AllowList, Entry, Method, RequestNotAllowed
from packs.http.body import Content, UnreadableContent, decode_content, read_content
from parley import Failed, Refused
from shared.logging import conceal, excerpt_of

MAX_REDIRECTS = 3
MAX_EXCERPT = 500  # characters of an error response
MAX_HEAD = 200_000  # bytes until a response's headers are complete, with interim responses such as 100 Continue


class ExchangeLimits(NamedTuple):
    """Timeouts in seconds: for the exchange; for TCP, and again for TLS, per address; for an error response's text.

    `max_bytes`: of the content, compressed or not.
    """

    timeout: float = 30
    connect_timeout: float = 5
    excerpt_timeout: float = 2
    max_bytes: int = 2_000_000


class HttpResponse(BaseModel):
    """The response to a request; `url` is where it came from in the end.

    The content is in `json` where it is JSON, else in `text`; `omitted` says why it is in neither.
    """

    status: int
    url: str
    content_type: str = ""
    data: JsonValue = Field(None, serialization_alias="json")
    text: str = ""
    omitted: str = ""


@dataclass(frozen=True, kw_only=True)
class HttpRequest:
    method: Method
    url: httpx2.URL
    accept: str = "*/*"
    content_type: str = ""
    body: bytes | None = None
    idempotency_key: str = ""

    @property
    def writes(self) -> bool:
        return self.method in WRITES

    def __str__(self) -> str:
        return f"{self.method} {excerpt_of(str(self.url.copy_with(query=None, fragment=None)), 300)}"


class _Exchange:
    """The state of one exchange. `uncertain`: a write was sent, and it is not known whether it took effect."""

    uncertain = False

    def failed(self, message: str) -> Failed:
        return Failed(conceal(message), unknown=self.uncertain)


class HttpClient:
    """Sends requests to allowed servers. `verify` checks certificates; None uses the system's settings."""

    def __init__(
        self,
        allowed: AllowList,
        *,
        resolver: Resolver = system_resolver,
        verify: ssl.SSLContext | None = None,
        limits: ExchangeLimits | None = None,
    ) -> None:
        self._allowed = allowed
        self._resolver = resolver
        self._verify = verify or httpx2.create_ssl_context(trust_env=False)
        self._limits = limits or ExchangeLimits()

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send the request. Raises Refused if it is not allowed, and Failed, which says whether a write is in doubt."""
        exchange = _Exchange()
        try:
            async with asyncio.timeout(self._limits.timeout):
                return await self._follow(request, exchange)
        except RequestNotAllowed as error:
            if exchange.uncertain:
                raise exchange.failed(str(error)) from None
            raise Refused(conceal(str(error))) from None
        except TimeoutError:
            raise exchange.failed(f"{request} did not end within {self._limits.timeout:g} seconds.") from None
        except (httpx2.HTTPError, ssl.SSLError) as error:  # httpx2 does not translate TLS alerts after the handshake
            raise exchange.failed(f"{request} broke off: {_words(error)}.") from None

    async def _follow(self, request: HttpRequest, exchange: _Exchange) -> HttpResponse:
        for _ in range(MAX_REDIRECTS + 1):
            entry = self._allowed.entry(request.method, request.url)
            async with self._open_response(request, entry, exchange) as response:
                redirected = _redirected(request, response, exchange)
                if redirected is None:
                    return await self._build_response(request, response, exchange)
            request = redirected
        raise exchange.failed(f"The request was redirected more than {MAX_REDIRECTS} times, at last to {request}.")

    @asynccontextmanager
    async def _open_response(
        self, request: HttpRequest, entry: Entry, exchange: _Exchange
    ) -> AsyncIterator[httpx2.Response]:
        """Send the request to the first address that accepts a connection, and yield the response.

        Once connected, no other address is tried: a write could take effect twice.
        """
        problem = ""
        for address in await self._addresses(entry, exchange):
            async with AsyncExitStack() as opened:
                transport = httpx2.AsyncHTTPTransport(verify=self._verify, trust_env=False)
                await opened.enter_async_context(transport)
                try:
                    response = await transport.handle_async_request(
                        self._build_request(request, entry, address, exchange)
                    )
                except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                    problem = _words(error)
                    continue
                opened.push_async_callback(response.aclose)
                yield response
                return
        raise exchange.failed(f"{entry.origin} cannot be connected to: {problem}.")

    async def _addresses(self, entry: Entry, exchange: _Exchange) -> list[Address]:
        """The server's addresses. All must be permitted, because the name may resolve to any of them."""
        host = entry.origin.host
        try:
            found = await self._resolver(host, entry.origin.port) if literal(host) is None else [host]
            addresses = [ip_address(text) for text in found]
        except (OSError, UnicodeError, ValueError) as error:
            raise exchange.failed(f"The name {host} cannot be resolved: {_words(error)}.") from None
        if not addresses:
            raise exchange.failed(f"The name {host} has no address.")
        if wrong := [address for address in addresses if not entry.permits(address)]:
            raise RequestNotAllowed(
                f"{host} leads to {wrong[0]}, which is not a public address. If that is meant, the operator "
                f'names this address as an origin in {SETTING}, or sets "private": true for {entry.origin} there.'
            )
        return addresses

    def _build_request(
        self, request: HttpRequest, entry: Entry, address: Address, exchange: _Exchange
    ) -> httpx2.Request:
        """The request to this address, with the host's name in the `Host` header and for the certificate."""

        stream: Any = None

        async def trace(event: str, info: dict[str, Any]) -> None:
            nonlocal stream
            match event.partition(".")[2]:
                case "connect_tcp.complete" | "start_tls.complete":
                    stream = info["return_value"]
                case "send_request_headers.started" if request.writes:
                    exchange.uncertain = True
                case "receive_response_headers.started":
                    _limit_reading(stream, MAX_HEAD)
                case "receive_response_headers.complete":
                    del stream.read  # the body has a limit of its own

        key = request.idempotency_key if request.writes else ""
        headers = {
            "Host": request.url.netloc.decode("ascii"),
            "Accept": request.accept,
            "Accept-Encoding": "gzip",
            "User-Agent": "parley",
            "Connection": "close",
            **({"Content-Type": request.content_type} if request.content_type else {}),
            **({"Idempotency-Key": quote(key, safe="/:")} if key else {}),
            **entry.headers,
        }
        return httpx2.Request(
            request.method,
            request.url.copy_with(host=str(address)),
            headers=headers,
            content=request.body,
            extensions={
                "sni_hostname": entry.origin.host,
                "timeout": {"connect": self._limits.connect_timeout},
                "trace": trace,
            },
        )

    async def _build_response(
        self, request: HttpRequest, response: httpx2.Response, exchange: _Exchange
    ) -> HttpResponse:
        status = response.status_code
        if not response.is_success:
            if request.writes and response.is_client_error:
                exchange.uncertain = False
            excerpt = await self._excerpt(response)
            answer = f"{status} {excerpt_of(response.reason_phrase, 100)}"
            raise exchange.failed(f"{request} was answered with {answer}.{excerpt}")
        content_type = excerpt_of(response.headers.get("content-type", ""), 200)
        content, omitted = Content(), ""
        if request.method != "HEAD":
            try:
                content = decode_content(await read_content(response, self._limits.max_bytes), content_type)
            except UnreadableContent as error:
                omitted = str(error)
                if not exchange.uncertain:  # a read has no other result; a write took effect, by its status
                    raise exchange.failed(f"The response to {request} cannot be decoded. {omitted}") from None
        return HttpResponse(
            status=status,
            url=conceal(str(request.url)),
            content_type=content_type,
            data=conceal(content.data),
            text=conceal(content.text),
            omitted=omitted,
        )

    async def _excerpt(self, response: httpx2.Response) -> str:
        """The beginning of an error response, if it arrives in time and is text."""
        try:
            async with asyncio.timeout(self._limits.excerpt_timeout):
                body = await read_content(response, self._limits.max_bytes)
            text = excerpt_of(decode_content(body, "").text, MAX_EXCERPT)
        except (UnreadableContent, TimeoutError, httpx2.HTTPError):
            return ""
        return f" It says: {' '.join(text.split())}" if text else ""


def _limit_reading(stream: Any, limit: int) -> None:
    """Let reading fail after `limit` bytes: the HTTP library skips any number of interim responses."""
    read, size = stream.read, 0

    async def read_limited(*arguments: Any, **options: Any) -> Any:
        nonlocal size
        data = await read(*arguments, **options)
        size += len(data)
        if size > limit:
            raise httpx2.RemoteProtocolError(f"The server sent more than {limit:,} bytes before its response.")
        return data

    stream.read = read_limited


def _redirected(request: HttpRequest, response: httpx2.Response, exchange: _Exchange) -> HttpRequest | None:
    """The next request of a redirect; None if the response is not a redirect.

    Only 307 and 308 repeat a write: they promise that the server has done nothing yet. After 303, and after 301 and 302
    for POST, the answer is fetched with GET, and the write stays uncertain until then. 301 and 302 for other writes are
    an error: some servers mean that the write was done, others that it is to be repeated at the new URL.
    """
    status, location = response.status_code, response.headers.get("location", "")
    if status not in (301, 302, 303, 307, 308) or not location:
        return None
    repeats = not request.writes or status in (307, 308)
    if request.writes and repeats:
        exchange.uncertain = False
    try:
        url = request.url.join(location).copy_with(fragment=None)
    except httpx2.InvalidURL:
        raise exchange.failed(f"{request} was redirected to an invalid URL.") from None
    target = excerpt_of(str(url.copy_with(query=None, username=None, password=None)), 300)
    if repeats:
        if request.writes and (url.scheme, url.netloc) != (request.url.scheme, request.url.netloc):
            raise RequestNotAllowed(
                f"{request} was redirected to another server, {target}. What was approved for one server is not sent "
                "to another: send it there if that is meant."
            )
        return replace(request, url=url)
    if status == 303 or request.method == "POST":
        return replace(request, method="GET", url=url, content_type="", body=None)
    raise exchange.failed(
        f"{request} was redirected with {status} to {target}, which does not say whether it took effect. Find that "
        "out, and send it there if it did not."
    )


def _words(error: Exception) -> str:
    return excerpt_of(str(error) or type(error).__name__, 300).rstrip(".")
