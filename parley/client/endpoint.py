"""The address of a Parley with its token, connection errors, and the backoff between attempts."""

import ipaddress
import time
from collections.abc import Mapping
from urllib.parse import urlsplit, urlunsplit

from parley.client.errors import NotAllowed, ParleyError, ParleyUnavailable

FIRST_PAUSE, MAX_PAUSE = 0.2, 3.0  # seconds between attempts
MAX_RETRY_AFTER = 60  # seconds; a longer Retry-After is reported as an error
TRANSIENT = ("unavailable", "slow_down")  # error codes of conditions that pass


class Endpoint:
    """The URLs of one gateway, from the URL of its page (http) or of its socket (ws). Raises NotAllowed."""

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
    """Whether this is the local machine, for which no proxy is used."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Backoff:
    """Growing pauses between attempts, until `timeout` seconds have passed since the first failure."""

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self.reset()

    def reset(self) -> None:
        """Start over: the connection works again."""
        self._pause = FIRST_PAUSE
        self._since: float | None = None

    def next(self, error: ParleyUnavailable) -> float:
        """Seconds to wait after this error. Raises the error after the timeout.

        A gateway that sends Retry-After is up, and is tried again for as long as it takes.
        """
        if error.retry_after is not None:
            if error.retry_after > MAX_RETRY_AFTER:
                raise error
            self.reset()
            return error.retry_after
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        if now + self._pause > self._since + self._timeout:
            raise error
        pause, self._pause = self._pause, min(self._pause * 2, MAX_PAUSE)
        return pause


def unreachable_error(url: str, error: BaseException) -> ParleyUnavailable:
    """The error for a failed connection attempt."""
    refused = isinstance(error, ConnectionRefusedError)
    words = "connection refused" if refused else str(error).partition("\n")[0] or type(error).__name__
    return ParleyUnavailable(f"No Parley answers at {url} ({words}).", "Is it up?")


def retry_after(headers: Mapping[str, str]) -> int | None:
    """The Retry-After header in seconds, if there is one."""
    value = headers.get("Retry-After", "")
    return int(value) if value.isdecimal() else None


def status_error(url: str, status: int, headers: Mapping[str, str]) -> ParleyError:
    """The error for an HTTP status without a response of Parley's."""
    if status in (401, 403):
        return NotAllowed(f"The Parley at {url} denied access (HTTP {status}).", "Give its token or an API key.")
    if status == 429 or status >= 500:
        words = f"The Parley at {url} is not ready (HTTP {status})."
        return ParleyUnavailable(words, code="not_ready", retry_after=retry_after(headers))
    return NotAllowed(
        f"What answers at {url} has no such path (HTTP {status}).",
        "Is it a Parley, and of this version?",
        code="not_parley",
    )
