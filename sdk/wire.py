"""One gateway over HTTP and WebSocket: requests that are made again while it is away, and sockets of one session."""

import asyncio
import ipaddress
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx2
from pydantic import ValidationError
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from sdk.errors import NotAllowed, ParleyDown, ParleyError, Refused
from shared.protocol import client as c
from shared.protocol import server as s

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 3.0  # seconds between tries
_LATER = ("unavailable", "slow_down")  # refusals for a reason that passes
_LARGEST = 32 * 1024 * 1024  # bytes of one message


class Wire:
    """`patience`: for how many seconds a gateway that is away is tried again before ParleyDown is raised."""

    def __init__(self, url: str, *, token: str = "", patience: float = 60) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https", "ws", "wss") or not parts.hostname:
            raise NotAllowed(f"{url!r} is not the address of a Parley: give one as http://127.0.0.1:8001")
        secure = parts.scheme in ("https", "wss")
        self.url = urlunsplit(("https" if secure else "http", parts.netloc, "", "", ""))
        self.socket_url = urlunsplit(("wss" if secure else "ws", parts.netloc, "/ws", "", ""))
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        self._patience = patience
        self._near = _is_near(parts.hostname)
        self._http = httpx2.AsyncClient(
            base_url=self.url, headers=self._headers, timeout=30, trust_env=not self._near, follow_redirects=False
        )

    async def close(self) -> None:
        await self._http.aclose()

    async def ask(self, method: str, path: str, *, body: object = None, params: Mapping[str, Any] | None = None) -> Any:
        """The answer's JSON. What is sent must bear to be sent twice. Raises ParleyError."""
        pauses = self._pauses()
        while True:
            try:
                found = await self._http.request(method, path, json=body, params=params)
                return _read(found, self.url)
            except httpx2.TransportError as error:
                trouble: ParleyError = ParleyDown(f"No Parley answers at {self.url} ({_words(error)}): is it up?")
            except ParleyDown as error:
                trouble = error
            if not await anext(pauses, False):
                raise trouble

    async def listen(self, session_id: str, after: int) -> AsyncIterator[s.AnyServerMessage]:
        """All that is sent about the session, every event after this version once, over as many sockets as it takes."""
        pauses = self._pauses()
        while True:
            try:
                async for message in self._one_socket(session_id, after):
                    if isinstance(message, s.Event):
                        if message.event.version <= after:
                            continue
                        after = message.event.version
                        pauses = self._pauses()
                    yield message
            except (OSError, TimeoutError, ConnectionClosed, InvalidHandshake) as error:
                if isinstance(error, InvalidStatus) and error.response.status_code in (401, 403, 404):
                    raise NotAllowed(_closed(self.url, error.response.status_code)) from error
                if not await anext(pauses, False):
                    raise ParleyDown(f"No Parley answers at {self.socket_url} ({_words(error)}): is it up?") from error

    async def _one_socket(self, session_id: str, after: int) -> AsyncIterator[s.AnyServerMessage]:
        async with connect(
            self.socket_url,
            additional_headers=self._headers,
            max_size=_LARGEST,
            proxy=None if self._near else True,
        ) as socket:
            await socket.send(c.Resume(type="resume", session_id=session_id, after=after).model_dump_json())
            async for text in socket:
                try:
                    message = s.SERVER_MESSAGES.validate_json(text)
                except ValidationError:
                    continue  # of a newer gateway
                if isinstance(message, s.Error):
                    if message.code in _LATER:
                        raise ConnectionError(message.message)
                    raise Refused(message.code, message.message, message.hint)
                if message.session_id == session_id:
                    yield message

    async def _pauses(self) -> AsyncIterator[bool]:
        """Sleeps, longer each time, and says True, until patience ends."""
        clock = asyncio.get_running_loop()
        end, pause = clock.time() + self._patience, FIRST_PAUSE
        while clock.time() + pause <= end:
            await asyncio.sleep(pause)
            yield True
            pause = min(pause * 2, LONGEST_PAUSE)


def _read(found: httpx2.Response, url: str) -> Any:
    if found.status_code < 300:
        try:
            return found.json()
        except ValueError:
            raise NotAllowed(f"What answers at {url} is no Parley: it sent no JSON.") from None
    try:
        told = found.json()
        code, message, hint = told["code"], told["message"], told.get("hint", "")
    except (ValueError, KeyError, TypeError):
        if found.status_code >= 500:
            raise ParleyDown(f"The Parley at {url} is not ready (HTTP {found.status_code}).") from None
        raise NotAllowed(_closed(url, found.status_code)) from None
    if code in _LATER:
        raise ParleyDown(message)
    raise NotAllowed(_closed(url, 401)) if code == "unauthorized" else Refused(code, message, hint)


def _closed(url: str, status: int) -> str:
    if status == 404:
        return f"What answers at {url} has no such path: is it a Parley, and of this version?"
    return f"The Parley at {url} does not let us in (HTTP {status}): give its token or an API key."


def _words(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _is_near(host: str) -> bool:
    """Is this our own machine, which no proxy leads to?"""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def plain(value: Any) -> Any:
    """A pydantic value as JSON that carries only what was set."""
    return json.loads(value.model_dump_json(exclude_unset=True, by_alias=True))
