"""One request and its response: over checked addresses, through at most three redirects, within limits.

Every hop has a connection of its own: a shared one could serve another name at the same address, whose certificate
nobody has looked at. No cookie, proxy or credential of the environment is used.
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import quote

import httpx2
from pydantic import BaseModel, Field, JsonValue

from packs.http.addresses import Address, Resolver, literal, system_resolver
from packs.http.allow_list import SETTING, WRITES, AllowList, Entry, Method, NotAllowed, Origin
from packs.http.body import Content, Unreadable, content_of, read
from parley import Failed, Refused
from shared.logging import conceal

REDIRECTS = 3
EXCERPT = 500  # characters of what an error says


class Limits(NamedTuple):
    """`seconds` for the whole exchange, `connecting` for one address, `excerpt` for what an error says.

    `size`: bytes of the content, also once it is unpacked.
    """

    seconds: float = 30
    connecting: float = 5
    excerpt: float = 2
    size: int = 2_000_000


class Response(BaseModel):
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
class Request:
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
        return f"{self.method} {_shown(str(self.url.copy_with(query=None, fragment=None)), 300)}"


class _Exchange:
    """What is known of one exchange while it goes on.

    `uncertain`: a write was sent, and nobody can tell whether it took effect.
    """

    uncertain = False

    def failed(self, message: str) -> Failed:
        return Failed(conceal(message), unknown=self.uncertain)


class Client:
    """`verify` checks the certificates of servers; None: as the system does."""

    def __init__(
        self,
        allowed: AllowList,
        *,
        resolver: Resolver = system_resolver,
        verify: ssl.SSLContext | None = None,
        limits: Limits | None = None,
    ) -> None:
        self._allowed = allowed
        self._resolver = resolver
        self._verify = verify or httpx2.create_ssl_context(trust_env=False)
        self._limits = limits or Limits()

    async def send(self, request: Request) -> Response:
        """Raises Refused where the request may not be made, and Failed, which says whether a write is in doubt."""
        exchange = _Exchange()
        try:
            async with asyncio.timeout(self._limits.seconds):
                return await self._followed(request, exchange)
        except NotAllowed as error:
            raise exchange.failed(str(error)) if exchange.uncertain else Refused(conceal(str(error))) from None
        except TimeoutError:
            raise exchange.failed(f"{request} did not end within {self._limits.seconds:g} seconds.") from None
        except httpx2.HTTPError as error:
            raise exchange.failed(f"{request} broke off: {_words(error)}.") from None

    async def _followed(self, request: Request, exchange: _Exchange) -> Response:
        for _ in range(REDIRECTS + 1):
            entry = self._allowed.entry(request.method, request.url)
            async with self._answered(request, entry, exchange) as response:
                redirected = _redirected(request, response, exchange)
                if redirected is None:
                    return await self._told(request, response, exchange)
            request = redirected
        raise exchange.failed(f"The request was redirected more than {REDIRECTS} times, at last to {request}.")

    @asynccontextmanager
    async def _answered(self, request: Request, entry: Entry, exchange: _Exchange) -> AsyncIterator[httpx2.Response]:
        """The response's head, over the first of the addresses that takes a connection."""
        addresses = await self._addresses(entry, exchange)
        async with AsyncExitStack() as opened:
            for address in addresses:
                transport = httpx2.AsyncHTTPTransport(verify=self._verify, trust_env=False)
                await opened.enter_async_context(transport)
                try:
                    response = await transport.handle_async_request(self._prepared(request, entry, address, exchange))
                except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                    problem = error
                    continue
                opened.push_async_callback(response.aclose)
                yield response
                return
            raise exchange.failed(f"{entry.origin} cannot be connected to: {_words(problem)}.")

    async def _addresses(self, entry: Entry, exchange: _Exchange) -> list[Address]:
        """Where the server is. All of its addresses have to be permitted: a name could lead to another each time."""
        host = entry.origin.host
        try:
            found = [literal(host) or ip_address(one) for one in await self._resolved(entry.origin)]
        except (OSError, UnicodeError, ValueError) as error:
            raise exchange.failed(f"The name {host} cannot be resolved: {_words(error)}.") from None
        if not found:
            raise exchange.failed(f"The name {host} has no address.")
        if wrong := [address for address in found if not entry.permits(address)]:
            raise NotAllowed(
                f"{host} leads to {wrong[0]}, which is no address of the internet. If that is meant, the operator "
                f'names this address as an origin in {SETTING}, or sets "private": true for {entry.origin} there.'
            )
        return found

    async def _resolved(self, origin: Origin) -> list[str]:
        return [origin.host] if literal(origin.host) else list(await self._resolver(origin.host, origin.port))

    def _prepared(self, request: Request, entry: Entry, address: Address, exchange: _Exchange) -> httpx2.Request:
        """The request to this address, in the name of the host: in its `Host` header, and for its certificate."""

        async def trace(event: str, _: object) -> None:
            if event.endswith("send_request_headers.started") and request.writes:
                exchange.uncertain = True

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

    async def _told(self, request: Request, response: httpx2.Response, exchange: _Exchange) -> Response:
        status = response.status_code
        if not response.is_success:
            if request.writes and response.is_client_error:
                exchange.uncertain = False
            excerpt = await self._excerpt(response)
            answer = f"{status} {_shown(response.reason_phrase, 100)}"
            raise exchange.failed(f"{request} was answered with {answer}.{excerpt}")
        content_type = _shown(response.headers.get("content-type", ""), 200)
        content, omitted = Content(), ""
        if request.method != "HEAD":
            try:
                content = content_of(await read(response, self._limits.size), content_type)
            except Unreadable as error:
                if not exchange.uncertain:  # a read, which has nothing to show
                    raise exchange.failed(f"{request} cannot be told. {error}") from None
                omitted = str(error)
        return Response(
            status=status,
            url=conceal(str(request.url)),
            content_type=content_type,
            data=conceal(content.data),
            text=conceal(content.text),
            omitted=omitted,
        )

    async def _excerpt(self, response: httpx2.Response) -> str:
        """What the error says, as far as it comes soon and is text."""
        try:
            async with asyncio.timeout(self._limits.excerpt):
                body = await read(response, self._limits.size)
            text = _shown(content_of(body, "").text, EXCERPT)
        except (Unreadable, TimeoutError, httpx2.HTTPError):
            return ""
        return f" It says: {' '.join(text.split())}" if text else ""


def _redirected(request: Request, response: httpx2.Response, exchange: _Exchange) -> Request | None:
    """The request that the response asks for instead; None: it is no redirect.

    After 303, and after 301 and 302 for POST, the answer is read elsewhere: what was sent has been taken, or not, so a
    write stays uncertain until the answer is here. Every other redirect asks for the same again, and has done nothing.
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
            target = f"{url.scheme}://{_shown(url.netloc.decode('ascii'), 200)}"
            raise NotAllowed(
                f"{request} was redirected to another server, {target}. What was approved for one server is not sent "
                "to another: send it there if that is meant."
            )
    return replace(request, url=url)


def _server(url: httpx2.URL) -> tuple[str, bytes, int | None]:
    return url.scheme, url.raw_host, url.port


def _shown(text: str, length: int) -> str:
    """The beginning of a text; a secret in it is hidden before it could be cut in two."""
    return str(conceal(text))[:length]


def _words(error: Exception) -> str:
    return _shown(str(error) or type(error).__name__, 300).rstrip(".")
