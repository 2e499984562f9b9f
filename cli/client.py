"""The terminal's end of `/ws`: connects, resumes after the last event seen, sends again what may not have arrived."""

import asyncio
import contextlib
import ipaddress
import uuid
from collections.abc import AsyncIterator
from typing import Literal, Self
from urllib.parse import urlsplit

from pydantic import ValidationError
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus, InvalidURI

from shared.protocol import client as c
from shared.protocol import server as s

Link = Literal["up", "down"]
FIRST_DELAY, LONGEST_DELAY = 0.25, 8.0
_LARGEST = 32 * 1024 * 1024  # a snapshot with a long plan and program is well below this
# These leave no event that would tell that they arrived: they are not sent again after a lost connection.
_ONCE = (c.Resume, c.Close, c.Fork, c.SaveToLibrary)


class GatewayDown(Exception):
    """The gateway cannot be reached, or lets us not in; the message says where and what to do."""


class Client:
    """`async with Client(url, ...) as client:` then `messages()` and `send()`; leaving says `close` and hangs up.

    `session_id` None begins a new session; else the socket is put on that one, with every event after `after`.
    """

    def __init__(self, url: str, *, token: str = "", session_id: str | None = None, after: int = 0) -> None:
        self.url, self.session_id, self.after = url, session_id, after
        self._token = token
        self._socket: ClientConnection | None = None
        self._unsure: dict[str, c.ClientMessage] = {}  # by id: no event has told yet that it arrived
        self._repeated: set[str] = set()

    async def __aenter__(self) -> Self:
        """Raises GatewayDown when the first connection does not come about."""
        self._socket = await self._connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._socket:
            with contextlib.suppress(ConnectionClosed):
                await self._socket.send(_json(c.Close(type="close")))
            await self._socket.close()

    async def send(self, message: c.ClientMessage) -> str:
        """Send it, now or as soon as there is a connection again; the id it was given, which its event carries."""
        message_id = message.id or uuid.uuid4().hex
        ready = message.model_copy(
            update={"id": message_id, "session_id": message.session_id or self.session_id},
        )
        if not isinstance(ready, _ONCE):
            self._unsure[message_id] = ready
        await self._put(ready)
        return message_id

    def is_mine(self, event_id: str) -> bool:
        """Did a message that this client sent, and that nothing has told of yet, make this event?"""
        return event_id.removeprefix(f"{self.session_id}:") in self._unsure

    async def messages(self) -> AsyncIterator[s.AnyServerMessage | Link]:
        """All that the gateway sends, over as many connections as it takes; "down" and "up" tell of those.

        Raises GatewayDown when a later connection is refused for good.
        """
        while True:
            if socket := self._socket:
                yield "up"
                async for message in self._listen(socket):
                    yield message
            yield "down"
            self._socket = await self._again()

    async def _listen(self, socket: ClientConnection) -> AsyncIterator[s.AnyServerMessage]:
        try:
            async for text in socket:
                try:
                    message = s.SERVER_MESSAGES.validate_json(text)
                except ValidationError:
                    continue  # of a newer gateway: what we do not know we cannot show
                if isinstance(message, s.Greeting):
                    await self._place(message)
                if not self._settled(message):
                    yield message
                self._forget(message)
        except ConnectionClosed as closed:
            if closed.rcvd and closed.rcvd.code == 1009:  # too big: it would be so again
                self._unsure.clear()
            elif closed.rcvd and (closed.rcvd.code == 1008 or 4400 <= closed.rcvd.code < 4500):
                raise GatewayDown(f"The gateway at {self.url} hung up: {closed.rcvd.reason or 'not allowed'}") from None

    async def _place(self, greeting: s.Greeting) -> None:
        """Put a new socket on our session, and repeat what may have been lost with the one before."""
        if self.session_id is None:
            self.session_id = greeting.session_id
        elif self.after or not self._unsure:
            await self._resume()
        self._repeated |= self._unsure.keys()
        for message in list(self._unsure.values()):
            await self._put(message)
        if not self.after and self._repeated:
            await self._resume()

    async def _resume(self) -> None:
        if self.session_id:
            await self._put(c.Resume(type="resume", session_id=self.session_id, after=self.after))

    def _settled(self, message: s.AnyServerMessage) -> bool:
        """Is this the refusal of something that we sent a second time and that had arrived the first time?"""
        return isinstance(message, s.Error) and message.code == "already_done" and message.reply_to in self._repeated

    def _forget(self, message: s.AnyServerMessage) -> None:
        if isinstance(message, s.Event) and message.event.session_id == self.session_id:
            self.after = max(self.after, message.event.version)
            self._unsure.pop(message.event.id.removeprefix(f"{self.session_id}:"), None)
        elif isinstance(message, s.Error) and message.reply_to:
            self._unsure.pop(message.reply_to, None)

    async def _put(self, message: c.ClientMessage) -> None:
        if self._socket:
            with contextlib.suppress(ConnectionClosed):  # the reader sees it too, connects and repeats
                await self._socket.send(_json(message))

    async def _again(self) -> ClientConnection:
        delay = FIRST_DELAY
        while True:
            await asyncio.sleep(delay)
            try:
                return await self._connect()
            except NotAllowed:
                raise
            except GatewayDown:
                delay = min(delay * 2, LONGEST_DELAY)

    async def _connect(self) -> ClientConnection:
        headers = {"Authorization": f"Bearer {self._token}"} if self._token else {}
        try:
            return await connect(
                self.url,
                additional_headers=headers,
                max_size=_LARGEST,
                open_timeout=10,
                close_timeout=1,
                proxy=None if _is_near(self.url) else True,
            )
        except InvalidURI as error:
            raise NotAllowed(
                f"{self.url} is not the address of a gateway: give one as ws://127.0.0.1:8001/ws"
            ) from error
        except InvalidStatus as error:
            raise _refusal(self.url, error.response.status_code) from error
        except (OSError, TimeoutError, InvalidHandshake) as error:
            raise GatewayDown(
                f"No gateway answers at {self.url} ({_in_words(error)}).\n"
                "Start Parley with `make up` (or `parley up`), or give the address with --url."
            ) from error


class NotAllowed(GatewayDown):
    """Trying again would not help."""


def _refusal(url: str, status: int) -> GatewayDown:
    if status in (401, 403):
        return NotAllowed(
            f"The gateway at {url} does not let us in (HTTP {status}).\n"
            "It wants a token: run this where `parley up` runs (the same PARLEY_HOME), or set PARLEY_TOKEN."
        )
    if status == 404:
        return NotAllowed(f"What answers at {url} has no such path: the gateway's is /ws.")
    return GatewayDown(f"The gateway at {url} is not ready (HTTP {status}). `parley doctor` says more.")


def _in_words(error: BaseException) -> str:
    if isinstance(error, ConnectionRefusedError):
        return "connection refused"
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _is_near(url: str) -> bool:
    """Is this our own machine, which no proxy leads to?"""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _json(message: c.ClientMessage) -> str:
    return message.model_dump_json(exclude_none=True)
