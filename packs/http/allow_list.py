"""The operator's allow-list of servers, read from the setting PARLEY_HTTP_ALLOW.

[{"origin": "https://api.example.org", "methods": ["GET", "POST"],
  "headers": {"Authorization": "Bearer ${EXAMPLE_TOKEN}"}}]
"""

import base64
import html
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Annotated, Literal, NamedTuple, Self
from urllib.parse import quote

import httpx2
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from packs.http.addresses import Address, is_public, literal
from shared.environment import environment_variable
from shared.logging import MIN_SECRET_CHARS, keep_secret

SETTING = "PARLEY_HTTP_ALLOW"
type Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
READS: tuple[Method, ...] = ("GET", "HEAD")
WRITES: tuple[Method, ...] = ("POST", "PUT", "PATCH", "DELETE")
PORTS = {"http": 80, "https": 443}
RESERVED_HEADERS = frozenset(  # headers that the pack sets itself, or that change the framing of a message
    (
        *("accept", "accept-encoding", "content-type", "host", "idempotency-key", "user-agent"),
        *("connection", "content-length", "expect", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"),
    )
)
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE = re.compile(r"[!-~](?:[ -~]*[!-~])?")


class RequestNotAllowed(Exception):
    """The request may not be made; the message says what is allowed, and by which setting."""


class BadAllowList(ValueError):
    """The setting is invalid. The message names the entry and what to do, never a value, which may be a secret."""


class Origin(NamedTuple):
    """A server. `host` is lower-case ASCII; an IP address is in canonical form."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, url: httpx2.URL) -> Self:
        """The origin of this URL. Raises RequestNotAllowed if it is not an HTTP URL."""
        if url.scheme not in PORTS:
            raise RequestNotAllowed("a URL begins with http:// or https://")
        host = url.raw_host.decode("ascii")
        if not host:
            raise RequestNotAllowed("the URL names no host")
        if url.userinfo:
            raise RequestNotAllowed("a URL holds no user name and no password: leave out what stands before the @")
        return cls(url.scheme, str(literal(host) or host), PORTS[url.scheme] if url.port is None else url.port)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port == PORTS[self.scheme] else f":{self.port}")


class Entry(NamedTuple):
    """One allowed server. `headers` contain secrets; they are sent with every request to this server and to no other.

    `private`: its name may resolve to addresses that are not public.
    """

    origin: Origin
    methods: tuple[Method, ...]
    headers: Mapping[str, str]
    private: bool

    def permits(self, address: Address) -> bool:
        return self.private or address == literal(self.origin.host) or is_public(address)


class AllowList:
    def __init__(self, entries: Iterable[Entry]) -> None:
        self._entries = {entry.origin: entry for entry in entries}

    def entry(self, method: Method, url: httpx2.URL) -> Entry:
        """The entry that allows this request. Raises RequestNotAllowed."""
        try:
            origin = Origin.of(url)
        except RequestNotAllowed as error:
            raise RequestNotAllowed(f"{error}. {self._allowed_summary()}") from None
        entry = self._entries.get(origin)
        if entry is None or method not in entry.methods:
            raise RequestNotAllowed(f"{method} {str(origin)[:300]} is not allowed. {self._allowed_summary()}")
        return entry

    def describe(self, methods: Iterable[Method]) -> str:
        """The allowed servers and methods, as text for a user or a model; "" if there are none."""
        lines = (
            (entry.origin, [method for method in methods if method in entry.methods])
            for entry in self._entries.values()
        )
        return "; ".join(f"{', '.join(allowed)} {origin}" for origin, allowed in lines if allowed)

    def _allowed_summary(self) -> str:
        return f"{SETTING} allows: {self.describe((*READS, *WRITES))}. Only the operator can allow more."


class _EntryForm(BaseModel):
    """An entry as written in the setting."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    origin: str
    methods: Annotated[tuple[Method, ...], Field(min_length=1)] = READS
    headers: dict[str, str] = Field(default_factory=dict)
    private: bool = False


_ENTRY_FORMS = TypeAdapter(list[_EntryForm])


def read_allow_list(text: str, lookup: Callable[[str], str | None] = environment_variable) -> AllowList:
    """Parse the setting and look up its secrets by name. Raises BadAllowList.

    From then on the secrets are concealed in all logs, results and events of this process.
    """
    try:
        items = _ENTRY_FORMS.validate_json(text)
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in problem["loc"])
        raise BadAllowList(f"{SETTING}{place}: {problem['msg']}. Write a JSON list of objects.") from None
    entries: dict[Origin, Entry] = {}
    for number, item in enumerate(items):
        where = f"{SETTING}[{number}]"
        origin = _origin(where, item.origin)
        if origin in entries:
            raise BadAllowList(f"{where}.origin: {origin} is there already: make one entry of both.")
        headers = {
            name: _header(f"{where}.headers.{name[:60]}", name, value, lookup) for name, value in item.headers.items()
        }
        entries[origin] = Entry(origin, item.methods, headers, item.private)
    return AllowList(entries.values())


def _origin(where: str, text: str) -> Origin:
    try:
        url = httpx2.URL(text)
        origin = Origin.of(url)
    except (httpx2.InvalidURL, RequestNotAllowed):
        origin = None
    if (
        origin is None
        or url.raw_path != b"/"
        or url.fragment
        or not 0 < origin.port < 65536
        or {"*", "%"} & {*origin.host}
    ):
        raise BadAllowList(f"{where}.origin: write scheme, host and port alone, like https://api.example.org:8443.")
    return origin


def _header(where: str, name: str, template: str, lookup: Callable[[str], str | None]) -> str:
    """The header's value. It is registered as a secret, as are the variables in it."""
    if not _HEADER_NAME.fullmatch(name) or name.lower() in RESERVED_HEADERS:
        raise BadAllowList(f"{where}: this is no header that can be set here.")
    names = _VARIABLE.findall(template)
    if not names:
        raise BadAllowList(
            f"{where}: name the variable that holds the secret, as ${{NAME}}; do not write it down here."
        )
    values = {variable_name: lookup(variable_name) or "" for variable_name in names}
    for variable_name, value in values.items():
        if len(value) < MIN_SECRET_CHARS:
            raise BadAllowList(
                f"{where}: the executor's environment has no {variable_name} of {MIN_SECRET_CHARS} or more characters."
            )
    header = _VARIABLE.sub(lambda match: values[match[1]], template)
    if not _HEADER_VALUE.fullmatch(header):
        raise BadAllowList(f"{where}: its value has characters that no header may have, such as an end of line.")
    words = (word for value in values.values() for word in value.split())
    keep_secret(spelling for secret in (header, *values.values(), *words) for spelling in _spellings(secret))
    return header


def _spellings(secret: str) -> Iterator[str]:
    """The forms in which a server may echo the secret: plain, in JSON, in a URL, in HTML, or decoded."""
    yield from (secret, json.dumps(secret)[1:-1], quote(secret), quote(secret, safe=""), html.escape(secret))
    try:
        decoded = base64.b64decode(secret, validate=True).decode()
    except ValueError:
        return
    yield from (decoded, decoded.partition(":")[2])  # of `Basic`: user and password
