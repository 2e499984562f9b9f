"""A client's connection to one session through any gateway, with a record of everything received."""

import asyncio
import json
import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Literal, Self

from parley.client import Connection
from parley.client.connection import request_refused
from parley.client.endpoint import Endpoint
from parley.events import SessionEvent
from parley.protocol.client import CLIENT_MESSAGES
from parley.protocol.server import Error, EventMessage

ANSWER_TIMEOUT = 8.0  # seconds until an unanswered message is sent to another gateway
RETRY_INTERVAL = 0.2
RETRYABLE_CODE = "failed"  # a gateway's internal error: the same message may be sent again


Json = dict[str, Any]


@dataclass
class SocketRecord:
    """The events that one socket received since it was attached: they should be all those after version `after`."""

    session_id: str
    after: int
    events: list[Json] = field(default_factory=list)


class SocketRecorder:
    """A connection's tap. Each time the socket is attached to the session, it begins another SocketRecord."""

    def __init__(self, session_id: str) -> None:
        self.session_id = session_id
        self.records: list[SocketRecord] = []
        self.errors: Counter[str] = Counter()
        self._current: SocketRecord | None = None
        self._resume: Json | None = None  # sent, until its snapshot arrives
        self._resume_id = ""

    def __call__(self, direction: Literal["sent", "received"], frame: str | bytes) -> None:
        message = json.loads(frame)
        if direction == "sent":
            self._on_sent(message)
        elif message["type"] == "greeting":
            self._current, self._resume = SocketRecord(self.session_id, 0), None
        elif message["type"] == "error":
            self._on_error(message)
        elif message["session_id"] == self.session_id:
            self._on_received(message)

    def _on_sent(self, message: Json) -> None:
        """Ignore events before the answer to a resume: the socket is not attached yet, so they may have gaps."""
        if message["type"] == "resume":
            self._current, self._resume, self._resume_id = None, message, message["id"]

    def _on_error(self, error: Json) -> None:
        """A resume that fails detaches the socket from the session."""
        self.errors[error["code"]] += 1
        if error["reply_to"] == self._resume_id:
            self._current = self._resume = None

    def _on_received(self, message: Json) -> None:
        if message["type"] == "snapshot":
            after = self._resume["after"] if self._resume else message["version"]
            self._current, self._resume = SocketRecord(self.session_id, after), None
        elif message["type"] == "event" and self._current:
            if not self._current.events:
                self.records.append(self._current)
            self._current.events.append(message["event"])


class ReconnectingClient:
    """`urls`: the gateways. If `is_begun` is false, the first message creates the session.

    It follows the session from version `after`.
    """

    def __init__(
        self, urls: list[str], session_id: str, choice: random.Random, *, is_begun: bool = False, after: int = 0
    ) -> None:
        self.recorder = SocketRecorder(session_id)
        self.on_event: Callable[[SessionEvent], None] = lambda _: None
        endpoints = [Endpoint(url) for url in choice.sample(urls, len(urls))]
        self._connection = Connection(
            *endpoints, session_id=session_id, after=after, exists=is_begun, tap=self.recorder
        )
        self._refused: dict[str, Error] = {}
        self._message_received = asyncio.Event()
        self._reader: asyncio.Task[None] | None = None

    @property
    def version(self) -> int:
        """The version of the newest event received."""
        return self._connection.after

    async def __aenter__(self) -> Self:
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._reader:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)

    def drop(self) -> None:
        """Drop the connection. The client reconnects at once."""
        self._connection.reconnect()

    async def send(self, message: Json) -> None:
        """Send the message until an event or a refusal answers it. Raises RequestRefused."""
        pending = self._connection.pending
        while True:
            await self._connection.send(CLIENT_MESSAGES.validate_python(message))
            while not await self.wait_until(lambda: message["id"] not in pending, ANSWER_TIMEOUT):
                self.drop()  # the next gateway gets the message again
            refused = self._refused.pop(message["id"], None)
            if refused is None:
                return
            if refused.code != RETRYABLE_CODE:
                raise request_refused(refused)
            await asyncio.sleep(RETRY_INTERVAL)

    async def wait_until(self, holds: Callable[[], bool], seconds: float) -> bool:
        """Wait until this holds after a message, at most so long. Returns whether it does."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while not holds():
                    self._message_received.clear()
                    await self._message_received.wait()
        return holds()

    async def _read(self) -> None:
        async with self._connection:
            async for message in self._connection:
                if isinstance(message, EventMessage):
                    self.on_event(message.event)
                elif isinstance(message, Error) and message.reply_to:
                    self._refused[message.reply_to] = message
                self._message_received.set()
