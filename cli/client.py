"""The terminal's end of `/ws`: connects, resumes after the last event seen, sends again what may not have arrived."""

import asyncio
import contextlib
import ipaddress
import uuid
from collections.abc import AsyncIterator, Set
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
_ONCE = (c.Close, c.Fork)
# Refused for a reason that passes: sent again with the same id.
_LATER = ("unavailable", "slow_down")
_PAUSE = 2.0  # seconds before that


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
        self._unsure: dict[str, c.ClientMessage] = {}  # by id: nothing has told yet that it arrived
        self._sent: set[str] = set()
        self._until = 0  # the version that what was resumed has come to when all of it has arrived
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        """Raises GatewayDown when the first connection does not come about."""
        self._socket = await self._connect()
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
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
            self._sent.add(message_id)
        await self._put(ready)
        return message_id

    @property
    def unsure(self) -> Set[str]:
        """Ids of messages that no event and no refusal has told of yet."""
        return self._unsure.keys()

    def is_mine(self, event_id: str) -> bool:
        """Did a message that this client sent make this event?"""
        return event_id.removeprefix(f"{self.session_id}:") in self._sent

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
                self._forget(message)
                yield self._softened(message)
        except ConnectionClosed as closed:
            if closed.rcvd and closed.rcvd.code == 1009:  # too big: it would be so again
                self._unsure.clear()
            elif closed.rcvd and (closed.rcvd.code == 1008 or 4400 <= closed.rcvd.code < 4500):
                raise GatewayDown(f"The gateway at {self.url} hung up: {closed.rcvd.reason or 'not allowed'}") from None

    async def _place(self, greeting: s.Greeting) -> None:
        """Put a new socket on our session, and repeat what may have been lost with the one before."""
        repeated = [message for message in self._unsure.values() if not isinstance(message, c.Resume)]
        self._unsure = {key: message for key, message in self._unsure.items() if message in repeated}
        if self.session_id is None:
            self.session_id = greeting.session_id
            return
        begun = self.after > 0 or not repeated  # else what begins the session may not have arrived
        if begun:
            await self._resume()
        for message in repeated:
            await self._put(message)
        if not begun:
            await self._resume()

    async def _resume(self) -> None:
        await self.send(c.Resume(type="resume", session_id=self.session_id, after=self.after))

    def _forget(self, message: s.AnyServerMessage) -> None:
        """What this message tells of has arrived."""
        if message.session_id != self.session_id:
            return
        if isinstance(message, s.Event):
            self.after = max(self.after, message.event.version)
            self._unsure.pop(message.event.id.removeprefix(f"{self.session_id}:"), None)
            self._resumed()
        elif isinstance(message, s.Snapshot):
            self._until = message.version or 0
            self._resumed()
        elif isinstance(message, s.Error) and message.reply_to and message.code not in _LATER:
            self._unsure.pop(message.reply_to, None)

    def _resumed(self) -> None:
        """A resume is done when all events of its snapshot have arrived as well: it may fail in between."""
        if 0 < self._until <= self.after:
            self._unsure = {key: sent for key, sent in self._unsure.items() if not isinstance(sent, c.Resume)}

    def _softened(self, message: s.AnyServerMessage) -> s.AnyServerMessage:
        """A refusal for a reason that passes is only worth a word: the message is sent again in a moment."""
        if not isinstance(message, s.Error) or message.code not in _LATER or message.reply_to not in self._unsure:
            return message
        task = asyncio.create_task(self._send_again(message.reply_to))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return s.Log(session_id=message.session_id, content=f"{message.message} Trying again.")

    async def _send_again(self, message_id: str) -> None:
        await asyncio.sleep(_PAUSE)
        if message := self._unsure.get(message_id):
            if isinstance(message, c.Resume):
                message = message.model_copy(update={"after": self.after})
            await self._put(message)

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
                proxy=None if is_near(self.url) else True,
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


def is_near(url: str) -> bool:
    """Is this our own machine, which no proxy leads to?"""
    host = urlsplit(url).hostname or ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _json(message: c.ClientMessage) -> str:
    return message.model_dump_json(exclude_none=True)
