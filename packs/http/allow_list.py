"""The operator's list of servers that may be asked, read from the setting PARLEY_HTTP_ALLOW.

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
from shared.environment import variable
from shared.logging import SHORTEST, keep_secret

SETTING = "PARLEY_HTTP_ALLOW"
type Method = Literal["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"]
READS: tuple[Method, ...] = ("GET", "HEAD")
WRITES: tuple[Method, ...] = ("POST", "PUT", "PATCH", "DELETE")
PORTS = {"http": 80, "https": 443}
OURS = frozenset(  # headers that the pack sets itself, or that would change how a message is framed
    (
        *("accept", "accept-encoding", "content-type", "host", "idempotency-key", "user-agent"),
        *("connection", "content-length", "expect", "keep-alive", "te", "trailer", "transfer-encoding", "upgrade"),
    )
)
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
_HEADER_VALUE = re.compile(r"[!-~](?:[ -~]*[!-~])?")


class NotAllowed(Exception):
    """The request may not be made; the message says what is allowed, and by which setting."""


class BadAllowList(ValueError):
    """The setting cannot be used: which entry, and what to do. Never a value: it may be a secret."""


class Origin(NamedTuple):
    """`host` is in lower case and ASCII; an address is in its canonical form."""

    scheme: str
    host: str
    port: int

    @classmethod
    def of(cls, url: httpx2.URL) -> Self:
        """Raises NotAllowed if the URL is not one of a server over HTTP."""
        if url.scheme not in PORTS:
            raise NotAllowed("a URL begins with http:// or https://")
        host = url.raw_host.decode("ascii")
        if not host:
            raise NotAllowed("the URL names no host")
        if url.userinfo:
            raise NotAllowed("a URL holds no user name and no password: leave out what stands before the @")
        return cls(url.scheme, str(literal(host) or host), PORTS[url.scheme] if url.port is None else url.port)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port == PORTS[self.scheme] else f":{self.port}")


class Entry(NamedTuple):
    """One server that may be asked. `headers` go with every request to it, and to no other: they hold secrets.

    `private`: its name may resolve to addresses that are not of the internet.
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
        """The entry by which this request is allowed. Raises NotAllowed."""
        try:
            origin = Origin.of(url)
        except NotAllowed as error:
            raise NotAllowed(f"{error}. {self._told()}") from None
        entry = self._entries.get(origin)
        if entry is None or method not in entry.methods:
            raise NotAllowed(f"{method} {str(origin)[:300]} is not allowed. {self._told()}")
        return entry

    def described(self, methods: Iterable[Method]) -> str:
        """The servers that may be asked by these methods, for a person or a model; "" if there are none."""
        lines = ((entry.origin, [one for one in methods if one in entry.methods]) for entry in self._entries.values())
        return "; ".join(f"{', '.join(allowed)} {origin}" for origin, allowed in lines if allowed)

    def _told(self) -> str:
        return f"{SETTING} allows: {self.described((*READS, *WRITES))}. Only the operator can allow more."


class _Item(BaseModel):
    """An entry as it is written."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    origin: str
    methods: Annotated[tuple[Method, ...], Field(min_length=1)] = READS
    headers: dict[str, str] = Field(default_factory=dict)
    private: bool = False


_ITEMS = TypeAdapter(list[_Item])


def read_allow_list(text: str, lookup: Callable[[str], str | None] = variable) -> AllowList:
    """The list in the setting's text, its secrets looked up by name. Raises BadAllowList.

    From then on the secrets are in no log, result and event of this process.
    """
    try:
        items = _ITEMS.validate_json(text)
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
    except (httpx2.InvalidURL, NotAllowed):
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
    """The header's value; it is kept as a secret, as are the variables in it."""
    if not _HEADER_NAME.fullmatch(name) or name.lower() in OURS:
        raise BadAllowList(f"{where}: this is no header that can be set here.")
    names = _VARIABLE.findall(template)
    if not names:
        raise BadAllowList(
            f"{where}: name the variable that holds the secret, as ${{NAME}}; do not write it down here."
        )
    values = {one: lookup(one) or "" for one in names}
    for one, value in values.items():
        if len(value) < SHORTEST:
            raise BadAllowList(f"{where}: the executor's environment has no {one} of {SHORTEST} or more characters.")
    header = _VARIABLE.sub(lambda found: values[found[1]], template)
    if not _HEADER_VALUE.fullmatch(header):
        raise BadAllowList(f"{where}: its value has characters that no header may have, such as an end of line.")
    words = (word for value in values.values() for word in value.split())
    keep_secret(spelling for secret in (header, *values.values(), *words) for spelling in _spellings(secret))
    return header


def _spellings(secret: str) -> Iterator[str]:
    """The secret as a server may write it when it quotes the request: plain, in JSON, in a URL, in HTML, or decoded."""
    yield from (secret, json.dumps(secret)[1:-1], quote(secret), quote(secret, safe=""), html.escape(secret))
    try:
        decoded = base64.b64decode(secret, validate=True).decode()
    except ValueError:
        return
    yield from (decoded, decoded.partition(":")[2])  # of `Basic`: user and password
