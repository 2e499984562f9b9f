"""A person's line to one session: a WebSocket to any gateway, made again whenever it breaks, and all that it showed.

What was shown is kept as it came, socket by socket: the invariants judge it, nobody puts it in order here.
"""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import InvalidHandshake, WebSocketException

Json = dict[str, Any]
ANSWERED = 8.0  # seconds until a message that nothing came of is sent again, on another socket
PAUSE = 0.2
RESUME = "resume"  # the id of that message
AWAY = ("unavailable", "slow_down", "failed")  # nothing was changed by it: the same again


class Declined(Exception):
    """The gateway refused; `code` says why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


@dataclass
class Shown:
    """What one socket showed of the session after it was put on it: every event after version `after`, it should be."""

    session_id: str
    after: int
    events: list[Json] = field(default_factory=list)


class Line:
    """`urls`: the gateways. `first` begins the session when there is none; it is sent until the session is there."""

    def __init__(self, urls: list[str], session_id: str, choice: random.Random) -> None:
        self.session_id = session_id
        self.shown: list[Shown] = []
        self.errors: Counter[str] = Counter()
        self.sockets = 0
        self.moved = asyncio.Event()  # something new was shown
        self._urls = [f"ws{url.removeprefix('http')}/ws" for url in urls]
        self._choice = choice
        self._socket: ClientConnection | None = None
        self._known: dict[str, int] = {}  # ids of the events that were shown, and their versions
        self._refused: dict[str, Json] = {}
        self._heard = asyncio.Event()
        self._reader: asyncio.Task[None] | None = None
        self.begun = False
        self.on_event: Callable[[Json], None] = lambda _: None

    @property
    def version(self) -> int:
        """Of the newest event that any socket showed."""
        return max(self._known.values(), default=0)

    async def open(self) -> None:
        self._reader = asyncio.create_task(self._for_ever())

    async def close(self) -> None:
        if self._reader:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)

    async def drop(self) -> None:
        """Lose the connection, as a train that enters a tunnel; another one is made at once."""
        if self._socket:
            self._socket.transport.abort()

    async def tell(self, message: Json) -> int:
        """Send it until something came of it; the version of its event. Raises Declined."""
        wanted = f"{self.session_id}:{message['id']}"
        while True:
            socket = await self._connected()
            sent = {"session_id": self.session_id, **message}
            with suppress(WebSocketException, OSError):
                await socket.send(json.dumps(sent))
                with suppress(TimeoutError):
                    async with asyncio.timeout(ANSWERED):
                        await self._something(wanted, message["id"], socket)
            if wanted in self._known:
                self.begun = True
                return self._known[wanted]
            if refused := self._refused.pop(message["id"], None):
                if refused["code"] not in AWAY:
                    raise Declined(refused["code"], refused["message"])
                await asyncio.sleep(PAUSE)
            elif self._socket is socket:
                await self.drop()  # it says nothing: another gateway may
                await asyncio.sleep(PAUSE)

    async def _something(self, wanted: str, message_id: str, socket: ClientConnection) -> None:
        while self._socket is socket and wanted not in self._known and message_id not in self._refused:
            self._heard.clear()
            await self._heard.wait()

    async def _connected(self) -> ClientConnection:
        while (socket := self._socket) is None:
            self._heard.clear()
            await self._heard.wait()
        return socket

    async def _for_ever(self) -> None:
        while True:
            with suppress(OSError, TimeoutError, WebSocketException, InvalidHandshake):
                url = self._choice.choice(self._urls)
                async with connect(url, max_size=None, open_timeout=10, close_timeout=1, proxy=None) as socket:
                    await self._listen(socket)
            self._socket = None
            self._heard.set()
            await asyncio.sleep(PAUSE)

    async def _listen(self, socket: ClientConnection) -> None:
        """Until it breaks, or turns out to be of no use."""
        self.sockets += 1
        after, resumed = self.version, self.begun
        if resumed:
            resume = {"type": "resume", "id": RESUME, "session_id": self.session_id, "after": after}
            await socket.send(json.dumps(resume))
        here = None if resumed else self._sees(after)
        async for text in socket:
            message = json.loads(text)
            kind, mine = message["type"], message["session_id"] == self.session_id
            if kind == "greeting":
                self._socket = socket
            elif kind == "snapshot" and mine:
                if not resumed:
                    self.begun = True
                    return  # it had been begun by what was sent before: come back, and see it from its beginning
                here = self._sees(after)
            elif kind == "event" and mine and here:
                self._event(here, message["event"])
            elif kind == "error":
                self._error(message)
                if message.get("reply_to") == RESUME:
                    return  # it could not be put on the session, or not be told all of it: come back
            self._heard.set()

    def _sees(self, after: int) -> Shown:
        self.shown.append(Shown(self.session_id, after))
        return self.shown[-1]

    def _event(self, here: Shown, event: Json) -> None:
        here.events.append(event)
        self._known[event["id"]] = event["version"]
        self.on_event(event)
        self.begun = True
        self.moved.set()

    def _error(self, message: Json) -> None:
        self.errors[message["code"]] += 1
        if message.get("reply_to"):
            self._refused[message["reply_to"]] = message
