"""Two tools that send HTTP requests: one that reads, and one that changes something."""

import json
import ssl
from collections.abc import Iterable, Sequence
from typing import Annotated, Any, Literal, Protocol

import httpx2
from pydantic import BaseModel, ConfigDict, Field, JsonValue

from packs.http.addresses import Resolver, system_resolver
from packs.http.allow_list import READS, WRITES, AllowList, RequestNotAllowed, read_allow_list
from packs.http.exchange import ExchangeLimits, HttpClient, HttpRequest, HttpResponse
from parley import Context, Pack, PastCall, Refused, Tool

MARGIN = 15  # seconds between the exchange's timeout, whose error is clearer, and the deadline of the call
PROMPT = (
    "For servers over HTTP: fetch_url reads, send_request changes something there. Both reach only the servers that "
    "their descriptions name. What they give has `status`, and `json` or `text`."
)
Url = Annotated[
    str,
    Field(
        description="The whole URL, of a server that is allowed.",
        min_length=1,
        max_length=2000,
        json_schema_extra={"x-kind": "url"},
    ),
]
MediaType = Annotated[
    str, Field(max_length=200, pattern=r"^([!-~]([ -~]*[!-~])?)?$")
]  # no space at the ends: no header begins so


class HttpSettings(Protocol):
    """The settings that are read here."""

    @property
    def parley_http_allow(self) -> str: ...


class FetchUrl(BaseModel):
    model_config = ConfigDict(extra="forbid")

    url: Url
    method: Literal["GET", "HEAD"] = "GET"
    accept: Annotated[MediaType, Field(description="The media types that are wanted.")] = "*/*"


class SendRequest(BaseModel):
    model_config = ConfigDict(extra="forbid")

    url: Url
    method: Literal["POST", "PUT", "PATCH", "DELETE"]
    body: Annotated[
        JsonValue,
        Field(description="What is sent: a value as JSON, a text as it is.", json_schema_extra={"x-kind": "text"}),
    ] = None
    content_type: Annotated[MediaType, Field(description="The body's media type, if it is another one.")] = ""
    accept: Annotated[MediaType, Field(description="The media types that are wanted.")] = "*/*"


class HttpPack(Pack):
    """HTTP tools; none without an allow-list."""

    def __init__(
        self,
        *,
        resolver: Resolver = system_resolver,
        verify: ssl.SSLContext | None = None,
        limits: ExchangeLimits | None = None,
    ) -> None:
        super().__init__("http", prompt=PROMPT)
        self._resolver = resolver
        self._verify = verify
        self._limits = limits or ExchangeLimits()

    async def open(self, settings: HttpSettings) -> None:
        """Read the allow-list and create its tools. Raises BadAllowList."""
        if not settings.parley_http_allow.strip():
            return
        allowed = read_allow_list(settings.parley_http_allow)
        client = HttpClient(allowed, resolver=self._resolver, verify=self._verify, limits=self._limits)
        self.tools = tuple(_tools(allowed, client, self._limits.timeout + MARGIN))


def _tools(allowed: AllowList, client: HttpClient, seconds: float) -> Iterable[Tool[Any]]:
    """The tools for which the list allows a server."""

    async def fetch(call: FetchUrl, _: Context) -> HttpResponse:
        return await client.send(HttpRequest(method=call.method, url=_url(call.url), accept=call.accept))

    async def send(call: SendRequest, context: Context) -> HttpResponse:
        body, media_type = _encoded(call.body)
        return await client.send(
            HttpRequest(
                method=call.method,
                url=_url(call.url),
                accept=call.accept,
                content_type=call.content_type or media_type,
                body=body,
                idempotency_key=context.key,
            )
        )

    def check(call: FetchUrl | SendRequest, _: Sequence[PastCall]) -> Iterable[str]:
        try:
            allowed.entry(call.method, _url(call.url))
        except (RequestNotAllowed, Refused) as error:
            yield str(error)

    if servers := allowed.describe(READS):
        yield Tool(
            name="fetch_url",
            arguments=FetchUrl,
            run=fetch,
            description=f"Read what a URL holds. Allowed: {servers}.",
            returns=HttpResponse,
            check=check,
            seconds=seconds,
        )
    if servers := allowed.describe(WRITES):
        yield Tool(
            name="send_request",
            arguments=SendRequest,
            run=send,
            description=f"Send a request that changes something on a server. Allowed: {servers}.",
            effect="irreversible",
            returns=HttpResponse,
            check=check,
            seconds=seconds,
        )


def _url(text: str) -> httpx2.URL:
    try:
        return httpx2.URL(text)
    except httpx2.InvalidURL as error:
        raise Refused(f"this is no URL: {error}") from None


def _encoded(body: JsonValue) -> tuple[bytes | None, str]:
    """The body's bytes, and the default media type."""
    try:
        match body:
            case None:
                return None, ""
            case str():
                return body.encode(), "text/plain; charset=utf-8"
            case _:
                return json.dumps(body, ensure_ascii=False, allow_nan=False).encode(), "application/json"
    except ValueError:
        raise Refused("the body holds what neither UTF-8 nor JSON can tell") from None
