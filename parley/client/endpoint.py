"""The address of a Parley with its token, the errors of reaching it, and the pauses between tries."""

import ipaddress
import time
from collections.abc import Mapping
from urllib.parse import urlsplit, urlunsplit

from parley.client.errors import NotAllowed, ParleyDown, ParleyError

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 3.0  # seconds between tries
LONGEST_WAIT = 60  # seconds that a gateway may ask for before it is tried again
TRANSIENT = ("unavailable", "slow_down")  # refusals for a reason that passes


class Endpoint:
    """The addresses of one gateway, from the URL of its page (http) or of its socket (ws)."""

    def __init__(self, url: str, token: str = "") -> None:
        try:
            parts = urlsplit(url)
            host = parts.hostname
        except ValueError:
            host = None
        if not host or parts.scheme not in ("http", "https", "ws", "wss"):
            raise NotAllowed(
                f"{url!r} is not the address of a Parley:", "give one as http://127.0.0.1:8001", code="bad_address"
            )
        secure = parts.scheme in ("https", "wss")
        path = parts.path.rstrip("/").removesuffix("/ws")
        self.url = urlunsplit(("https" if secure else "http", parts.netloc, path, "", ""))
        self.socket_url = urlunsplit(("wss" if secure else "ws", parts.netloc, f"{path}/ws", "", ""))
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}
        self.is_local = _is_local(host)


def _is_local(host: str) -> bool:
    """Whether this is our own machine, for which no proxy is used."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Backoff:
    """Growing pauses between tries, until `patience` seconds have passed since the first failure."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self.reset()

    def reset(self) -> None:
        """Begin anew: the connection works again."""
        self._pause = FIRST_PAUSE
        self._since: float | None = None

    def next(self, error: ParleyDown) -> float:
        """Seconds to wait after this error. Raises the error once `patience` is over.

        A gateway that asks to be tried again later is not away, and is tried again for as long as it takes.
        """
        if error.retry_after is not None:
            if error.retry_after > LONGEST_WAIT:
                raise error
            self.reset()
            return error.retry_after
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        if now + self._pause > self._since + self._patience:
            raise error
        pause, self._pause = self._pause, min(self._pause * 2, LONGEST_PAUSE)
        return pause


def unreachable(url: str, error: BaseException) -> ParleyDown:
    """The error for a connection that could not be made."""
    refused = isinstance(error, ConnectionRefusedError)
    words = "connection refused" if refused else str(error).partition("\n")[0] or type(error).__name__
    return ParleyDown(f"No Parley answers at {url} ({words}).", "Is it up?")


def retry_after(headers: Mapping[str, str]) -> int | None:
    """Seconds, if an answer says after how many to try again."""
    value = headers.get("Retry-After", "")
    return int(value) if value.isdecimal() else None


def unanswered(url: str, status: int, headers: Mapping[str, str]) -> ParleyError:
    """The error for an HTTP status that carries no answer of Parley's."""
    if status in (401, 403):
        return NotAllowed(f"The Parley at {url} does not let us in (HTTP {status}).", "Give its token or an API key.")
    if status == 429 or status >= 500:
        words = f"The Parley at {url} is not ready (HTTP {status})."
        return ParleyDown(words, code="not_ready", retry_after=retry_after(headers))
    return NotAllowed(
        f"What answers at {url} has no such path (HTTP {status}).",
        "Is it a Parley, and of this version?",
        code="not_parley",
    )
