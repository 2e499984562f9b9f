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
from packs.http.allow_list import SETTING, WRITES, AllowList, Entry, Method, Origin, RequestNotAllowed
from packs.http.body import Content, UnreadableContent, decode_content, read_content
from parley import Failed, Refused
from shared.logging import conceal

MAX_REDIRECTS = 3
MAX_EXCERPT = 500  # characters of an error response
MAX_HEAD = 200_000  # bytes until a response's headers are complete, with interim responses such as 100 Continue


class ExchangeLimits(NamedTuple):
    """Timeouts in seconds: `seconds` for the exchange, `connecting` per address, `excerpt` for an error response.

    `size`: bytes of the content, compressed or not.
    """

    seconds: float = 30
    connecting: float = 5
    excerpt: float = 2
    size: int = 2_000_000


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
    key: str = ""

    @property
    def writes(self) -> bool:
        return self.method in WRITES

    def __str__(self) -> str:
        return f"{self.method} {_excerpt_of(str(self.url.copy_with(query=None, fragment=None)), 300)}"


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
            async with asyncio.timeout(self._limits.seconds):
                return await self._follow(request, exchange)
        except RequestNotAllowed as error:
            raise exchange.failed(str(error)) if exchange.uncertain else Refused(conceal(str(error))) from None
        except TimeoutError:
            raise exchange.failed(f"{request} did not end within {self._limits.seconds:g} seconds.") from None
        except httpx2.HTTPError as error:
            raise exchange.failed(f"{request} broke off: {_words(error)}.") from None

    async def _follow(self, request: HttpRequest, exchange: _Exchange) -> HttpResponse:
        for _ in range(MAX_REDIRECTS + 1):
            entry = self._allowed.entry(request.method, request.url)
            async with self._connect(request, entry, exchange) as response:
                redirected = _redirected(request, response, exchange)
                if redirected is None:
                    return await self._build_response(request, response, exchange)
            request = redirected
        raise exchange.failed(f"The request was redirected more than {MAX_REDIRECTS} times, at last to {request}.")

    @asynccontextmanager
    async def _connect(self, request: HttpRequest, entry: Entry, exchange: _Exchange) -> AsyncIterator[httpx2.Response]:
        """Opens the response, at the first address that accepts a connection."""
        addresses = await self._addresses(entry, exchange)
        async with AsyncExitStack() as opened:
            for address in addresses:
                transport = httpx2.AsyncHTTPTransport(verify=self._verify, trust_env=False)
                await opened.enter_async_context(transport)
                try:
                    response = await transport.handle_async_request(
                        self._build_request(request, entry, address, exchange)
                    )
                except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                    problem = error
                    continue
                opened.push_async_callback(response.aclose)
                yield response
                return
            raise exchange.failed(f"{entry.origin} cannot be connected to: {_words(problem)}.")

    async def _addresses(self, entry: Entry, exchange: _Exchange) -> list[Address]:
        """The server's addresses. All must be permitted, because the name may resolve to any of them."""
        host = entry.origin.host
        try:
            addresses = [literal(host) or ip_address(text) for text in await self._resolve(entry.origin)]
        except (OSError, UnicodeError, ValueError) as error:
            raise exchange.failed(f"The name {host} cannot be resolved: {_words(error)}.") from None
        if not addresses:
            raise exchange.failed(f"The name {host} has no address.")
        if wrong := [address for address in addresses if not entry.permits(address)]:
            raise RequestNotAllowed(
                f"{host} leads to {wrong[0]}, which is no address of the internet. If that is meant, the operator "
                f'names this address as an origin in {SETTING}, or sets "private": true for {entry.origin} there.'
            )
        return addresses

    async def _resolve(self, origin: Origin) -> list[str]:
        return [origin.host] if literal(origin.host) else list(await self._resolver(origin.host, origin.port))

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

        headers = {
            "Host": request.url.netloc.decode("ascii"),
            "Accept": request.accept,
            "Accept-Encoding": "gzip",
            "User-Agent": "parley",
            "Connection": "close",
            **({"Content-Type": request.content_type} if request.content_type else {}),
            **({"Idempotency-Key": quote(request.key, safe="/:")} if request.writes and request.key else {}),
            **entry.headers,
        }
        return httpx2.Request(
            request.method,
            request.url.copy_with(host=str(address)),
            headers=headers,
            content=request.body,
            extensions={
                "sni_hostname": entry.origin.host,
                "timeout": {"connect": self._limits.connecting},
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
            answer = f"{status} {_excerpt_of(response.reason_phrase, 100)}"
            raise exchange.failed(f"{request} was answered with {answer}.{excerpt}")
        content_type = _excerpt_of(response.headers.get("content-type", ""), 200)
        content, omitted = Content(), ""
        if request.method != "HEAD":
            try:
                content = decode_content(await read_content(response, self._limits.size), content_type)
            except UnreadableContent as error:
                if not exchange.uncertain:  # a read has no other result
                    raise exchange.failed(f"The response to {request} cannot be decoded. {error}") from None
                omitted = str(error)
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
            async with asyncio.timeout(self._limits.excerpt):
                body = await read_content(response, self._limits.size)
            text = _excerpt_of(decode_content(body, "").text, MAX_EXCERPT)
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

    After 303, and after 301 and 302 for POST, the answer is fetched with GET: the server may have processed the write,
    which stays uncertain until then. Any other redirect repeats the request, and the server has done nothing yet.
    """
    location = response.headers.get("location", "")
    if response.status_code not in (301, 302, 303, 307, 308) or not location:
        return None
    try:
        url = request.url.join(location).copy_with(fragment=None)
    except httpx2.InvalidURL:
        raise exchange.failed(f"{request} was redirected to what is no URL.") from None
    status = response.status_code
    if request.writes and (status == 303 or (status in (301, 302) and request.method == "POST")):
        return replace(request, method="GET", url=url, content_type="", body=None)
    if request.writes:
        exchange.uncertain = False
        if _server(url) != _server(request.url):
            target = f"{url.scheme}://{_excerpt_of(url.netloc.decode('ascii'), 200)}"
            raise RequestNotAllowed(
                f"{request} was redirected to another server, {target}. What was approved for one server is not sent "
                "to another: send it there if that is meant."
            )
    return replace(request, url=url)


def _server(url: httpx2.URL) -> tuple[str, bytes, int | None]:
    return url.scheme, url.raw_host, url.port


def _excerpt_of(text: str, length: int) -> str:
    """The beginning of a text. Secrets are concealed before the cut, which could split one."""
    return str(conceal(text))[:length]


def _words(error: Exception) -> str:
    return _excerpt_of(str(error) or type(error).__name__, 300).rstrip(".")
