"""A WebSocket that reconnects whenever it breaks."""

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Literal

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from parley.client.endpoint import Backoff, Endpoint, status_error, unreachable_error
from parley.client.errors import NotAllowed, ParleyUnavailable

Tap = Callable[[Literal["sent", "received"], str | bytes], None]
MAX_MESSAGE_BYTES = 32 * 1024 * 1024  # a snapshot with a long plan and program is well below this
FINAL_CLOSE_CODES = (1008, *range(4400, 4500))  # after these close codes the client does not reconnect


class Link(Enum):
    """The state of the connection."""

    UP = "up"
    DOWN = "down"


class Socket:
    """Tries the endpoints in turn. `ended`: the close code of the last connection, 0 for none.

    `query` is appended to the URL.
    """

    def __init__(self, endpoints: Sequence[Endpoint], backoff: Backoff, tap: Tap | None, *, query: str = "") -> None:
        self.url = endpoints[0].socket_url
        self.ended = 0
        self._endpoints = itertools.cycle(endpoints)
        self._backoff, self._tap, self._query = backoff, tap, query
        self._socket: ClientConnection | None = None
        self._reported_up = False
        self._pause = 0.0  # seconds before the next attempt

    async def open(self) -> None:
        """Connect, in one attempt. Raises ParleyError."""
        endpoint = next(self._endpoints)
        self.url = endpoint.socket_url
        try:
            self._socket = await connect(
                f"{endpoint.socket_url}{self._query}",
                additional_headers=endpoint.headers,
                max_size=MAX_MESSAGE_BYTES,
                open_timeout=30,  # seconds; a closed port is refused at once
                close_timeout=1,
                proxy=None if endpoint.is_local else True,
            )
        except InvalidStatus as error:
            answer = error.response
            raise status_error(endpoint.socket_url, answer.status_code, answer.headers) from error
        except (OSError, InvalidHandshake) as error:  # OSError: also a timeout
            raise unreachable_error(endpoint.socket_url, error) from error

    async def receive(self) -> str | bytes | Link:
        """The next frame; UP before the first of each connection, DOWN after its last.

        Raises ParleyUnavailable after the backoff's timeout, NotAllowed when the gateway refuses the connection.
        """
        while not self._socket:
            await asyncio.sleep(self._pause)
            try:
                await self.open()
            except ParleyUnavailable as error:
                self._pause = self._backoff.next(error)
        if not self._reported_up:
            self._reported_up = True
            return Link.UP
        try:
            frame = await self._socket.recv()
        except ConnectionClosed as closed:
            self._connection_lost(closed)
            return Link.DOWN
        if self._tap:
            self._tap("received", frame)
        return frame

    async def send(self, frame: str) -> None:
        """Send a frame if connected. Only a reply shows that it arrived."""
        if not self._socket:
            return
        if self._tap:
            self._tap("sent", frame)
        with contextlib.suppress(ConnectionClosed):  # `receive` reports it
            await self._socket.send(frame)

    def abort(self) -> None:
        """Drop the connection. `receive` reconnects."""
        if self._socket:
            self._socket.transport.abort()

    async def close(self) -> None:
        if self._socket:
            await self._socket.close()

    def _connection_lost(self, closed: ConnectionClosed) -> None:
        self._socket, self._reported_up = None, False
        self.ended = closed.rcvd.code if closed.rcvd else 0
        if self.ended in FINAL_CLOSE_CODES:
            reason = (closed.rcvd and closed.rcvd.reason) or "not allowed"
            raise NotAllowed(f"The Parley at {self.url} closed the connection: {reason}.", code="hung_up") from None
        self._pause = self._backoff.next(unreachable_error(self.url, closed))
