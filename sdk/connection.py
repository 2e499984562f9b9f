"""One session over a WebSocket that comes back.

After a lost connection the session is resumed behind the last event that came, and what may not have arrived is sent
again with the same id, so that it is done once.
"""

import asyncio
import math
import uuid
from collections.abc import Callable, Set
from typing import Literal, Self

from pydantic import ValidationError

from sdk.endpoint import TRANSIENT, Backoff, Endpoint
from sdk.errors import ParleyDown, Refused
from sdk.socket import Link, Socket, Tap
from shared.protocol import client as c
from shared.protocol import server as s

Message = s.AnyServerMessage | Link
TOO_BIG = 1009  # the code with which a socket ends that was sent more than it takes
# These leave no event that would acknowledge them: they are not sent again after a lost connection.
_UNACKNOWLEDGED = (c.Close, c.Fork)
# Where the socket stands: before its greeting; not on the session; asked to be put on it; on it.
_Place = Literal["new", "off", "joining", "on"]


class Connection:
    """`async with Connection(endpoint) as connection:`, then `send`, and `async for message in connection`.

    It yields what Parley sends, every event once and in order, and a Link when it is connected or no longer. Without a
    `session_id` it is a new session, under an id that comes with the greeting; with `begun` false, a new session under
    this id. Several endpoints are tried in turn. A Parley that is away for longer than `patience` seconds raises
    ParleyDown, one that refuses the connection NotAllowed. A `tap` is handed every frame as it is on the wire.
    """

    def __init__(
        self,
        *endpoints: Endpoint,
        session_id: str | None = None,
        after: int = 0,
        begun: bool = True,
        patience: float = math.inf,
        tap: Tap | None = None,
    ) -> None:
        self.session_id, self.after = session_id, after
        self._begun = begun and session_id is not None
        self._backoff = Backoff(patience)
        self._socket = Socket(endpoints, self._backoff, tap)
        self._place: _Place = "new"
        self._resume_id = uuid.uuid4().hex
        self._pending: dict[str, c.ClientMessage] = {}
        self._sent: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Say goodbye and hang up; the session goes on."""
        for task in self._tasks:
            task.cancel()
        await self._put(c.Close(type="close"))
        await self._socket.close()

    async def open(self) -> None:
        """Connect now, in one try; else whoever asks for the first message connects. Raises ParleyError."""
        await self._socket.open()

    def reconnect(self) -> None:
        """Drop the present socket; another one is opened in its place."""
        self._socket.abort()

    @property
    def url(self) -> str:
        """Of the gateway that was connected to last."""
        return self._socket.url

    # --- sending

    async def send(self, message: c.ClientMessage) -> str:
        """Send it, now or as soon as there is a connection again; its id, which is also in its event's."""
        message_id = message.id or uuid.uuid4().hex
        message = message.model_copy(update={"id": message_id})
        if not isinstance(message, _UNACKNOWLEDGED):
            self._pending[message_id] = message
            self._sent.add(message_id)
        await self._put(message)
        return message_id

    @property
    def pending(self) -> Set[str]:
        """Ids of messages that neither an event nor a refusal has acknowledged yet."""
        return self._pending.keys()

    def is_mine(self, event_id: str) -> bool:
        """Did a message that was sent here make this event?"""
        return event_id.removeprefix(f"{self.session_id}:") in self._sent

    async def _put(self, message: c.ClientMessage) -> None:
        """Before the greeting nothing is sent: with it, all that is pending is."""
        if self._place != "new":
            update = {"session_id": message.session_id or self.session_id}
            await self._socket.send(message.model_copy(update=update).model_dump_json(exclude_none=True))

    # --- receiving

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        while True:
            frame = await self._socket.receive()
            if isinstance(frame, Link):
                self._place = "new"
                if frame is Link.DOWN and self._socket.ended == TOO_BIG:
                    self._pending.clear()  # one of them would be too big again
                return frame
            if (message := await self._received(frame)) is not None:
                return message

    async def until[M: s.ServerMessage](self, kind: type[M], fits: Callable[[M], bool] = lambda _: True) -> M:
        """The next message of this class that fits; those before it are dropped. Raises Refused for an error."""
        async for message in self:
            if isinstance(message, kind) and fits(message):
                return message
            if isinstance(message, s.Error):
                raise refusal(message)
        raise AssertionError("the messages of a connection have no end")

    async def _received(self, frame: str | bytes) -> s.AnyServerMessage | None:
        """The message, if it is for whoever listens."""
        try:
            message = s.SERVER_MESSAGES.validate_json(frame)
        except ValidationError:
            return None  # of a newer gateway
        match message:
            case s.Greeting():
                self.session_id = self.session_id or message.session_id
                await self._join()
            case s.Error():
                return self._refused(message)
            case s.Log():
                pass
            case s.Snapshot() if message.session_id == self.session_id:
                return await self._located(message)
            case _ if message.session_id == self.session_id:
                return self._live(message)
        return message

    def _live(self, message: s.AnyServerMessage) -> s.AnyServerMessage | None:
        """While the socket is not on the session, what comes has gaps: all of it comes again after the resume."""
        if self._place != "on":
            return None
        if isinstance(message, s.Event):
            if message.event.version <= self.after:
                return None
            self.after = message.event.version
            self._pending.pop(message.event.id.removeprefix(f"{self.session_id}:"), None)
            self._begun = True
            self._backoff.reset()
        return message

    # --- being on the session

    async def _join(self) -> None:
        """Put the socket on the session, and repeat what may have been lost with the one before."""
        if self._begun:
            await self._resume()
        else:
            self._place = "on"  # of a session that has not begun nothing can be missed
            self._backoff.reset()
        for message in tuple(self._pending.values()):
            await self._put(message)

    async def _resume(self) -> None:
        self._place = "joining"
        await self._put(c.Resume(type="resume", id=self._resume_id, after=self.after))

    async def _located(self, snapshot: s.Snapshot) -> s.Snapshot | None:
        """A snapshot answers a resume. Another one says that the session had begun: what was before it is missing."""
        self._begun = True
        if self._place == "joining":
            self._place = "on"
            self._backoff.reset()
            return snapshot
        if self._place == "on":
            await self._resume()
        return None

    def _refused(self, error: s.Error) -> s.AnyServerMessage | None:
        """A refusal for a reason that passes is only worth a word: the message is sent again in a moment."""
        about = error.reply_to
        if about == self._resume_id:
            self._place = "off"
        if error.code in TRANSIENT and (about in (None, self._resume_id) or about in self._pending):
            pause = self._backoff.next(ParleyDown(error.message, error.hint, code=error.code))
            task = asyncio.create_task(self._repeat(pause, about))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return s.Log(session_id=error.session_id, content=f"{error.message} Trying again.")
        self._pending.pop(about or "", None)
        return None if error.code == "already_done" else error

    async def _repeat(self, pause: float, message_id: str | None) -> None:
        """Send what was refused again; None: everything, as the refusal did not say what it is about."""
        await asyncio.sleep(pause)
        if self._place in ("off", "joining") and message_id in (None, self._resume_id):
            await self._resume()
        for pending in tuple(self._pending.values()):
            if message_id in (None, pending.id):
                await self._put(pending)


def refusal(error: s.Error) -> Refused:
    """A refusal as an exception."""
    return Refused(error.code, error.message, error.hint)
