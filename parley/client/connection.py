"""A session over a WebSocket that reconnects.

After a lost connection it resumes after the last event received. Messages that may not have arrived are sent again with
the same id, so that each is carried out once.
"""

import asyncio
import math
import uuid
from collections.abc import Callable, Set
from typing import Literal, Self

from pydantic import ValidationError

from parley.client.endpoint import TRANSIENT, Backoff, Endpoint
from parley.client.errors import ParleyUnavailable, RequestRefused
from parley.client.screen import Screen
from parley.client.socket import Link, Socket, Tap
from parley.protocol import client as c
from parley.protocol import screen as v
from parley.protocol import server as s

Received = s.AnyServerMessage | v.AnyScreenMessage
Message = Received | Link
MESSAGE_TOO_BIG = 1009  # close code: a message was larger than the receiver accepts
# No event acknowledges these messages, so they are not sent again after a lost connection.
_UNACKNOWLEDGED = (c.Close, c.Fork)
# Before the greeting; not subscribed to the session; resume sent but not answered; subscribed.
_Stage = Literal["new", "detached", "resuming", "attached"]


class Connection:
    """`async with Connection(endpoint) as connection:`, then `send`, and `async for message in connection`.

    It yields every message of Parley, each event once and in order, and a Link whenever the connection comes up or goes
    down. Without a `session_id` it begins a new session, whose id comes with the greeting. With `exists` false it
    begins one with this id. Several endpoints are tried in turn. `tap` is called with every frame on the wire. With
    `view=2` it speaks protocol 2, and `screen` is the current screen.

    Iterating raises ParleyUnavailable when Parley is unreachable for more than `timeout` seconds, NotAllowed when it
    refuses the connection.
    """

    def __init__(  # noqa: PLR0913  how it connects
        self,
        *endpoints: Endpoint,
        session_id: str | None = None,
        after: int = 0,
        exists: bool = True,
        timeout: float = math.inf,
        tap: Tap | None = None,
        view: Literal[1, 2] = 1,
    ) -> None:
        self.session_id, self.after = session_id, after
        self.screen = Screen()
        self._view = view
        self._exists = exists and session_id is not None
        self._backoff = Backoff(timeout)
        self._socket = Socket(endpoints, self._backoff, tap, query="?view=2" if view == 2 else "")
        self._stage: _Stage = "new"
        self._resume_id = uuid.uuid4().hex
        self._pending: dict[str, c.ClientMessage] = {}
        self._rejections: list[s.Error] = []  # yielded before the next frame
        self._sent: set[str] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Close the connection. The session goes on."""
        for task in self._tasks:
            task.cancel()
        await self._send_now(c.Close(type="close"))
        await self._socket.close()

    async def open(self) -> None:
        """Connect now, in one attempt. Otherwise reading the first message connects. Raises ParleyError."""
        await self._socket.open()

    def reconnect(self) -> None:
        """Drop the current socket. The next read opens another one."""
        self._socket.abort()

    @property
    def url(self) -> str:
        """The URL of the gateway that was connected to last."""
        return self._socket.url

    # --- sending

    async def send(self, message: c.ClientMessage) -> str:
        """Send a message, now or once connected. Returns its id, which the id of its event contains."""
        message_id = message.id or uuid.uuid4().hex
        message = message.model_copy(update={"id": message_id})
        if not isinstance(message, _UNACKNOWLEDGED):
            self._pending[message_id] = message
            self._sent.add(message_id)
        await self._send_now(message)
        return message_id

    @property
    def pending(self) -> Set[str]:
        """Ids of messages that neither an event nor an error has acknowledged yet."""
        return self._pending.keys()

    def sent_here(self, event_id: str) -> bool:
        """Whether a message sent over this connection caused this event."""
        return event_id.removeprefix(f"{self.session_id}:") in self._sent

    async def _send_now(self, message: c.ClientMessage) -> None:
        """Send the message. Before the greeting do nothing: after it, all pending messages are sent."""
        if self._stage != "new":
            update = {"session_id": message.session_id or self.session_id}
            await self._socket.send(message.model_copy(update=update).model_dump_json(exclude_none=True))

    # --- receiving

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Message:
        while True:
            if self._rejections:
                return self._rejections.pop()
            frame = await self._socket.receive()
            if isinstance(frame, Link):
                self._stage = "new"
                if frame is Link.DOWN and self._socket.ended == MESSAGE_TOO_BIG and self._pending:
                    self._drop_largest()
                return frame
            if (message := await self._parse(frame)) is not None:
                return message

    async def until[M: s.ServerMessage](self, kind: type[M], matches: Callable[[M], bool] = lambda _: True) -> M:
        """The next message of this class that matches; earlier ones are dropped. Raises RequestRefused for an error."""
        async for message in self:
            if isinstance(message, kind) and matches(message):
                return message
            if isinstance(message, s.Error):
                raise request_refused(message)
        raise AssertionError("the messages of a connection have no end")

    async def _parse(self, frame: str | bytes) -> Received | None:
        """Handle one frame. Returns the message; None if it is not for the reader of this connection."""
        message: Received
        try:
            if self._view == 1:
                message = s.SERVER_MESSAGES.validate_json(frame)
            else:
                message = v.SCREEN_MESSAGES.validate_json(frame)
        except ValidationError:
            return None  # from a newer gateway
        match message:
            case s.Greeting():
                self.session_id = self.session_id or message.session_id
                await self._attach()
            case s.Error():
                return self._handle_error(message)
            case s.Log():
                pass
            case s.Snapshot() | v.ScreenSnapshot() if message.session_id == self.session_id:
                return await self._handle_snapshot(message)
            case _ if message.session_id == self.session_id:
                return await self._handle_live(message)
        return message

    async def _handle_live[M: Received](self, message: M) -> M | None:
        """Ignore messages until the socket is attached: some may be missing, and all come again after the resume.

        The changes of protocol 2 build on each other, so a missing event causes a resume.
        """
        if self._stage != "attached":
            return None
        if isinstance(message, v.ScreenEvent) and message.version > self.after + 1:
            await self._resume()
            return None
        if isinstance(message, s.EventMessage | v.ScreenEvent):
            version, event_id = _version_and_id(message)
            if version <= self.after:
                return None
            self.after = version
            self._pending.pop(event_id.removeprefix(f"{self.session_id}:"), None)
            self._exists = True
            self._backoff.reset()
        if isinstance(message, v.ScreenEvent | v.ScreenDelta):
            self.screen.take(message)
        return message

    def _drop_largest(self) -> None:
        """Drop the largest pending message, which ended the connection and would end the next one, too."""
        sizes = {message_id: len(message.model_dump_json()) for message_id, message in self._pending.items()}
        largest = max(sizes, key=lambda message_id: sizes[message_id])
        del self._pending[largest]
        self._rejections.append(
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
        """Subscribe to the session, and resend what may have been lost with the previous socket."""
        if self._exists:
            await self._resume()
        else:
            self._stage = "attached"  # a session without events has none to miss
            self._backoff.reset()
        for message in tuple(self._pending.values()):
            await self._send_now(message)

    async def _resume(self) -> None:
        self._stage = "resuming"
        await self._send_now(c.Resume(type="resume", id=self._resume_id, after=self.after))

    async def _handle_snapshot[M: s.Snapshot | v.ScreenSnapshot](self, snapshot: M) -> M | None:
        """A snapshot answers a resume. Without a resume it means that the session had begun, so events are missing."""
        self._exists = True
        if self._stage == "resuming":
            self._stage = "attached"
            self._backoff.reset()
            if isinstance(snapshot, v.ScreenSnapshot):
                self.screen.take(snapshot)
            return snapshot
        if self._stage == "attached":
            await self._resume()
        return None

    def _handle_error(self, error: s.Error) -> s.Error | s.Log | None:
        """The error. If it is transient, a Log instead, and the message is sent again after a pause."""
        about = error.reply_to
        if about == self._resume_id:
            self._stage = "detached"
        if error.code in TRANSIENT and (about in (None, self._resume_id) or about in self._pending):
            down = ParleyUnavailable(error.message, error.hint, code=error.code, retry_after=error.retry_after)
            pause = self._backoff.next(down)
            task = asyncio.create_task(self._resend_later(pause, about))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return s.Log(session_id=error.session_id, content=f"{error.message} Trying again.")
        self._pending.pop(about or "", None)
        return None if error.code == "already_done" else error

    async def _resend_later(self, pause: float, message_id: str | None) -> None:
        """Send the refused message again; None: all pending ones, as the error named none."""
        await asyncio.sleep(pause)
        if self._stage in ("detached", "resuming") and message_id in (None, self._resume_id):
            await self._resume()
        for pending in tuple(self._pending.values()):
            if message_id in (None, pending.id):
                await self._send_now(pending)


def request_refused(error: s.Error) -> RequestRefused:
    """An error message as an exception."""
    return RequestRefused(error.code, error.message, error.hint)


def _version_and_id(message: s.EventMessage | v.ScreenEvent) -> tuple[int, str]:
    """The event's."""
    if isinstance(message, v.ScreenEvent):
        return message.version, message.event_id
    return message.event.version, message.event.id
