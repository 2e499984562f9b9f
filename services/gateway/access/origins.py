"""Where a request comes from: a browser tells, and a foreign page must not act in its user's name. Pure."""

from collections.abc import Collection
from urllib.parse import SplitResult, urlsplit

from starlette.requests import HTTPConnection

from services.gateway.trouble import Trouble
from shared.login import is_loopback

SAFE = ("GET", "HEAD", "OPTIONS")
PLAIN = {"ws": "http", "wss": "https"}
BEHIND_A_PROXY = "PARLEY_ALLOWED_ORIGINS can allow them; behind a proxy, TRUSTED_PROXIES must name its address."
PORTS = {"http": 80, "https": 443}


def check_host(connection: HTTPConnection, allowed: Collection[str]) -> None:
    """Without a login, a page of any name that resolves to this machine would be let in: only ours may be.

    Raises Trouble(forbidden).
    """
    name = _host(connection).hostname or ""
    if not is_loopback(name) and name not in {urlsplit(origin).hostname for origin in allowed}:
        raise Trouble(
            "forbidden", f"This Parley is not known as {name!r}.", "Use 127.0.0.1, or set PARLEY_ALLOWED_ORIGINS."
        )


def check_origin(connection: HTTPConnection, allowed: Collection[str]) -> None:
    """A browser's Origin, if there is one, must be our own page's, or one of `allowed`. Raises Trouble(forbidden)."""
    origin = connection.headers.get("origin")
    if origin is not None and origin not in allowed and not _own(origin, connection):
        behind = "x-forwarded-proto" in connection.headers
        hint = BEHIND_A_PROXY if behind else "PARLEY_ALLOWED_ORIGINS can allow them."
        raise Trouble("forbidden", f"Pages from {origin} may not use this Parley.", hint)


def check_not_forged(connection: HTTPConnection, allowed: Collection[str], *, cookie: bool) -> None:
    """For requests that change something and whose browser logs in by itself. Raises Trouble(forbidden)."""
    check_origin(connection, allowed)
    site = connection.headers.get("sec-fetch-site")
    told = "origin" in connection.headers or site == "same-origin"
    if (site is not None and site not in ("same-origin", "none") and "origin" not in connection.headers) or (
        cookie and not told
    ):
        raise Trouble("forbidden", "A change by cookie must come from Parley's own page.", "Use a Bearer token.")


def _own(origin: str, connection: HTTPConnection) -> bool:
    try:
        theirs, ours = urlsplit(origin), _host(connection)
        scheme = PLAIN.get(connection.url.scheme, connection.url.scheme)
        default = PORTS.get(scheme)
        same_port = (theirs.port or default) == (ours.port or default)
    except ValueError:
        return False
    return theirs.scheme == scheme and theirs.hostname == ours.hostname and same_port


def _host(connection: HTTPConnection) -> SplitResult:
    try:
        return urlsplit(f"//{connection.headers.get('host', '')}")
    except ValueError as error:
        raise Trouble("forbidden", "The Host header cannot be read.") from error
