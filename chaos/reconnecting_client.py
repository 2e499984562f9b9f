"""A client's connection to one session through any gateway, with a record of everything received."""

import asyncio
import random
from collections.abc import Callable

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
    """`urls`: the gateways. If `is_begun` is false, the first message creates the session."""

    def __init__(self, urls: list[str], session_id: str, choice: random.Random, *, is_begun: bool = False) -> None:
        self.recorder = SocketRecorder(session_id)
        self.event_received = asyncio.Event()
        self.on_event: Callable[[SessionEvent], None] = lambda _: None
        endpoints = [Endpoint(url) for url in choice.sample(urls, len(urls))]
        self._connection = Connection(*endpoints, session_id=session_id, exists=is_begun, tap=self.recorder)
        self._refused: dict[str, Error] = {}
        self._message_received = asyncio.Event()
        self._reader: asyncio.Task[None] | None = None

    @property
    def version(self) -> int:
        """The version of the newest event received."""
        return self._connection.after

    async def open(self) -> None:
        self._reader = asyncio.create_task(self._read())

    async def close(self) -> None:
        if self._reader:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)

    def drop(self) -> None:
        """Drop the connection. The client reconnects at once."""
        self._connection.reconnect()

    async def send(self, message: Json) -> None:
        """Send the message until an event or a refusal answers it. Raises Refused."""
        while True:
            await self._connection.send(CLIENT_MESSAGES.validate_python(message))
            await self._wait_for_answer(message["id"])
            refused = self._refused.pop(message["id"], None)
            if refused is None:
                return
            if refused.code != RETRYABLE_CODE:
                raise request_refused(refused)
            await asyncio.sleep(RETRY_INTERVAL)

    async def _wait_for_answer(self, message_id: str) -> None:
        """Wait for an answer. After a timeout, reconnect to another gateway, which sends the message again."""
        while message_id in self._connection.pending:
            try:
                async with asyncio.timeout(ANSWER_TIMEOUT):
                    while message_id in self._connection.pending:
                        self._message_received.clear()
                        await self._message_received.wait()
            except TimeoutError:
                self.drop()

    async def _read(self) -> None:
        async with self._connection:
            async for message in self._connection:
                if isinstance(message, EventMessage):
                    self.on_event(message.event)
                    self.event_received.set()
                elif isinstance(message, Error) and message.reply_to:
                    self._refused[message.reply_to] = message
                self._message_received.set()
