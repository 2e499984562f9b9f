"""A person's connection to one session, through any gateway, with a record of all that it showed."""

import asyncio
import random
from collections.abc import Callable

from chaos.recorder import Json, Recorder
from parley.client import Connection
from parley.client.connection import refusal
from parley.client.endpoint import Endpoint
from parley.events import SessionEvent
from parley.protocol.client import CLIENT_MESSAGES
from parley.protocol.server import Error, Event

ANSWERED = 8.0  # seconds until an unanswered message is sent again, to another gateway
PAUSE = 0.2
AGAIN = "failed"  # the code of a gateway's own fault: the same message may be sent again


class Line:
    """`urls`: the gateways. With `begun` false the first message begins the session."""

    def __init__(self, urls: list[str], session_id: str, choice: random.Random, *, begun: bool = False) -> None:
        self.recorder = Recorder(session_id)
        self.moved = asyncio.Event()  # something new was shown
        self.on_event: Callable[[SessionEvent], None] = lambda _: None
        endpoints = [Endpoint(url) for url in choice.sample(urls, len(urls))]
        self._connection = Connection(*endpoints, session_id=session_id, begun=begun, tap=self.recorder)
        self._refused: dict[str, Error] = {}
        self._heard = asyncio.Event()
        self._reader: asyncio.Task[None] | None = None

    @property
    def version(self) -> int:
        """The version of the newest event that was shown."""
        return self._connection.after

    async def open(self) -> None:
        self._reader = asyncio.create_task(self._read())

    async def close(self) -> None:
        if self._reader:
            self._reader.cancel()
            await asyncio.gather(self._reader, return_exceptions=True)

    def drop(self) -> None:
        """Lose the connection, as in a tunnel; another one is made at once."""
        self._connection.reconnect()

    async def tell(self, message: Json) -> None:
        """Send the message until an event or a refusal answers it. Raises Refused."""
        while True:
            await self._connection.send(CLIENT_MESSAGES.validate_python(message))
            await self._answered(message["id"])
            refused = self._refused.pop(message["id"], None)
            if refused is None:
                return
            if refused.code != AGAIN:
                raise refusal(refused)
            await asyncio.sleep(PAUSE)

    async def _answered(self, message_id: str) -> None:
        """Wait for an answer; without one in time, go on with another gateway."""
        while message_id in self._connection.pending:
            try:
                async with asyncio.timeout(ANSWERED):
                    while message_id in self._connection.pending:
                        self._heard.clear()
                        await self._heard.wait()
            except TimeoutError:
                self.drop()

    async def _read(self) -> None:
        async with self._connection:
            async for message in self._connection:
                if isinstance(message, Event):
                    self.on_event(message.event)
                    self.moved.set()
                elif isinstance(message, Error) and message.reply_to:
                    self._refused[message.reply_to] = message
                self._heard.set()
