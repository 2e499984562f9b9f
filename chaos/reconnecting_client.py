"""A client's connection to one session through any gateway, with a record of everything received."""

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Self

from chaos.socket_recorder import Json, SocketRecorder
from parley.client import Connection
from parley.client.connection import request_refused
from parley.client.endpoint import Endpoint
from parley.events import SessionEvent
from parley.protocol.client import CLIENT_MESSAGES
from parley.protocol.server import Error, EventMessage

ANSWER_TIMEOUT = 8.0  # seconds until an unanswered message is sent to another gateway
RETRY_INTERVAL = 0.2
RETRYABLE_CODE = "failed"  # a gateway's internal error: the same message may be sent again


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
