"""One session over a WebSocket that comes back.

After a lost connection the session is resumed behind the last event received. Messages that may not have arrived are
sent again with the same id, so that each is carried out once.
"""

import asyncio
import math
import uuid
from collections.abc import Callable, Set
from typing import Literal, Self

from pydantic import ValidationError

from parley.client.endpoint import TRANSIENT, Backoff, Endpoint
from parley.client.errors import ParleyDown, Refused
from parley.client.screen import Screen
from parley.client.socket import Link, Socket, Tap
from parley.protocol import client as c
from parley.protocol import screen as v
from parley.protocol import server as s

Received = s.AnyServerMessage | v.AnyScreenMessage
Message = Received | Link
TOO_BIG = 1009  # the code with which a socket ends that was sent more than it takes
# No event acknowledges these, so they are not sent again after a lost connection.
_UNACKNOWLEDGED = (c.Close, c.Fork)
# The socket before its greeting; without the session; with a resume that is not answered; attached to the session.
_Stage = Literal["new", "detached", "resuming", "attached"]


class Connection:
    """`async with Connection(endpoint) as connection:`, then `send`, and `async for message in connection`.

    It yields every message of Parley, each event once and in order, and a Link whenever the connection is made or lost.
    Without a `session_id` it begins a new session, whose id comes with the greeting; with `begun` false it begins a
    session with this id. Several endpoints are tried in turn. Iterating raises ParleyDown when Parley is away for more
    than `patience` seconds, NotAllowed when it refuses the connection. `tap` is called with every frame on the wire.
    With `view=2` it speaks protocol 2, and `screen` has what the messages so far come to.
    """

    def __init__(  # noqa: PLR0913  how it connects
        self,
        *endpoints: Endpoint,
        session_id: str | None = None,
        after: int = 0,
        begun: bool = True,
        patience: float = math.inf,
        tap: Tap | None = None,
        view: Literal[1, 2] = 1,
    ) -> None:
        self.session_id, self.after = session_id, after
        self.screen = Screen()
        self._view = view
        self._begun = begun and session_id is not None
        self._backoff = Backoff(patience)
        self._socket = Socket(endpoints, self._backoff, tap, query="?view=2" if view == 2 else "")
        self._stage: _Stage = "new"
        self._resume_id = uuid.uuid4().hex
        self._pending: dict[str, c.ClientMessage] = {}
        self._given_up: list[s.Error] = []  # to be yielded before the next frame
        self._sent: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connection; the session goes on."""
        for task in self._tasks:
            task.cancel()
        await self._put(c.Close(type="close"))
        await self._socket.close()

    async def open(self) -> None:
        """Connect now, in one try. Without this the first message that is asked for connects. Raises ParleyError."""
        await self._socket.open()

    def reconnect(self) -> None:
        """Drop the present socket. Another one is opened in its place."""
        self._socket.abort()

    @property
    def url(self) -> str:
        """Of the gateway that was connected to last."""
        return self._socket.url

    # --- sending

    async def send(self, message: c.ClientMessage) -> str:
        """Send a message, now or as soon as there is a connection. Returns its id, which its event's id contains."""
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

    def sent_here(self, event_id: str) -> bool:
        """Whether a message sent over this connection made this event."""
        return event_id.removeprefix(f"{self.session_id}:") in self._sent

    async def _put(self, message: c.ClientMessage) -> None:
        """Send it unless the greeting has not come: then all pending messages are sent."""
        if self._stage != "new":
            update = {"session_id": message.session_id or self.session_id}
            await self._socket.send(message.model_copy(update=update).model_dump_json(exclude_none=True))

    # --- receiving

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        while True:
            if self._given_up:
                return self._given_up.pop()
            frame = await self._socket.receive()
            if isinstance(frame, Link):
                self._stage = "new"
                if frame is Link.DOWN and self._socket.ended == TOO_BIG and self._pending:
                    self._give_up_largest()
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

    async def _received(self, frame: str | bytes) -> Received | None:
        """The message, None if it is not for the reader of this connection."""
        message: Received
        try:
            if self._view == 1:
                message = s.SERVER_MESSAGES.validate_json(frame)
            else:
                message = v.SCREEN_MESSAGES.validate_json(frame)
        except ValidationError:
            return None  # a message of a newer gateway
        match message:
            case s.Greeting():
                self.session_id = self.session_id or message.session_id
                await self._attach()
            case s.Error():
                return self._refused(message)
            case s.Log():
                pass
            case s.Snapshot() | v.ScreenSnapshot() if message.session_id == self.session_id:
                return await self._snapshot(message)
            case _ if message.session_id == self.session_id:
                return await self._live(message)
        return message

    async def _live[M: Received](self, message: M) -> M | None:
        """Unless the socket is attached, messages may be missing between these: all come again after the resume.

        Changes of protocol 2 build on each other: where an event is missing, the session is resumed.
        """
        if self._stage != "attached":
            return None
        if isinstance(message, v.ScreenEvent) and message.event.version > self.after + 1:
            await self._resume()
            return None
        if isinstance(message, s.Event | v.ScreenEvent):
            if message.event.version <= self.after:
                return None
            self.after = message.event.version
            self._pending.pop(message.event.id.removeprefix(f"{self.session_id}:"), None)
            self._begun = True
            self._backoff.reset()
        if isinstance(message, v.ScreenEvent | v.ScreenDelta):
            self.screen.take(message)
        return message

    def _give_up_largest(self) -> None:
        """The connection ended because of one message, which would end the next one, too. The others are sent again."""
        sizes = {message_id: len(message.model_dump_json()) for message_id, message in self._pending.items()}
        largest = max(sizes, key=lambda message_id: sizes[message_id])
        del self._pending[largest]
        self._given_up.append(
            s.Error(
                session_id=self.session_id or "",
                code="too_large",
                message=f"The message has {sizes[largest]:,} characters, more than Parley takes at once.",
                hint="Send it in parts, or only what matters of it.",
                reply_to=largest,
            )
        )

    # --- attaching to the session

    async def _attach(self) -> None:
        """Attach the socket to the session, and send again what may have been lost with the one before."""
        if self._begun:
            await self._resume()
        else:
            self._stage = "attached"  # a session that has not begun has no events to miss
            self._backoff.reset()
        for message in tuple(self._pending.values()):
            await self._put(message)

    async def _resume(self) -> None:
        self._stage = "resuming"
        await self._put(c.Resume(type="resume", id=self._resume_id, after=self.after))

    async def _snapshot[M: s.Snapshot | v.ScreenSnapshot](self, snapshot: M) -> M | None:
        """A snapshot answers a resume. One without a resume tells that the session had begun: events are missing."""
        self._begun = True
        if self._stage == "resuming":
            self._stage = "attached"
            self._backoff.reset()
            if isinstance(snapshot, v.ScreenSnapshot):
                self.screen.take(snapshot)
            return snapshot
        if self._stage == "attached":
            await self._resume()
        return None

    def _refused(self, error: s.Error) -> s.Error | s.Log | None:
        """The refusal; if its reason is transient, a Log instead, and the message is sent again after a pause."""
        about = error.reply_to
        if about == self._resume_id:
            self._stage = "detached"
        if error.code in TRANSIENT and (about in (None, self._resume_id) or about in self._pending):
            down = ParleyDown(error.message, error.hint, code=error.code, retry_after=error.retry_after)
            pause = self._backoff.next(down)
            task = asyncio.create_task(self._repeat(pause, about))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return s.Log(session_id=error.session_id, content=f"{error.message} Trying again.")
        self._pending.pop(about or "", None)
        return None if error.code == "already_done" else error

    async def _repeat(self, pause: float, message_id: str | None) -> None:
        """Send the refused message again; None: all pending ones, as the refusal named none."""
        await asyncio.sleep(pause)
        if self._stage in ("detached", "resuming") and message_id in (None, self._resume_id):
            await self._resume()
        for pending in tuple(self._pending.values()):
            if message_id in (None, pending.id):
                await self._put(pending)


def refusal(error: s.Error) -> Refused:
    """A refusal as an exception."""
    return Refused(error.code, error.message, error.hint)
