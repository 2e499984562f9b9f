"""A WebSocket that is opened again whenever it breaks."""

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Sequence
from enum import Enum
from typing import Literal

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from parley.client.endpoint import Backoff, Endpoint, unanswered, unreachable
from parley.client.errors import NotAllowed, ParleyDown

Tap = Callable[[Literal["sent", "received"], str | bytes], None]
LARGEST = 32 * 1024 * 1024  # bytes of one message; a snapshot with a long plan and program is well below this
NOT_ALLOWED = (1008, *range(4400, 4500))  # codes with which a gateway ends a socket for good


class Link(Enum):
    """Whether there is a connection."""

    UP = "up"
    DOWN = "down"


class Socket:
    """Tries the endpoints in turn. `ended`: the code with which the last connection was closed, 0 for none.

    `query` is appended to the address.
    """

    def __init__(self, endpoints: Sequence[Endpoint], backoff: Backoff, tap: Tap | None, *, query: str = "") -> None:
        self.url = endpoints[0].socket_url
        self.ended = 0
        self._endpoints = itertools.cycle(endpoints)
        self._backoff, self._tap, self._query = backoff, tap, query
        self._socket: ClientConnection | None = None
        self._announced = False
        self._pause = 0.0  # seconds before the next one is opened

    async def open(self) -> None:
        """Connect in one try. Raises ParleyError."""
        endpoint = next(self._endpoints)
        self.url = endpoint.socket_url
        try:
            self._socket = await connect(
                f"{endpoint.socket_url}{self._query}",
                additional_headers=endpoint.headers,
                max_size=LARGEST,
                open_timeout=10,
                close_timeout=1,
                proxy=None if endpoint.is_local else True,
            )
        except InvalidStatus as error:
            answer = error.response
            raise unanswered(endpoint.socket_url, answer.status_code, answer.headers) from error
        except (OSError, InvalidHandshake) as error:  # OSError: also a timeout
            raise unreachable(endpoint.socket_url, error) from error

    async def receive(self) -> str | bytes | Link:
        """The next frame; UP before the first one of each connection, DOWN behind its last one.

        Raises ParleyDown when the backoff's patience ends, NotAllowed when the gateway refuses the connection.
        """
        while not self._socket:
            await asyncio.sleep(self._pause)
            try:
                await self.open()
            except ParleyDown as error:
                self._pause = self._backoff.next(error)
        if not self._announced:
            self._announced = True
            return Link.UP
        try:
            frame = await self._socket.recv()
        except ConnectionClosed as closed:
            self._lost(closed)
            return Link.DOWN
        if self._tap:
            self._tap("received", frame)
        return frame

    async def send(self, frame: str) -> None:
        """Send it if there is a connection. Only an answer shows that it arrived."""
        if not self._socket:
            return
        if self._tap:
            self._tap("sent", frame)
        with contextlib.suppress(ConnectionClosed):  # `receive` reports it
            await self._socket.send(frame)

    def abort(self) -> None:
        """Drop the connection; `receive` opens another one."""
        if self._socket:
            self._socket.transport.abort()

    async def close(self) -> None:
        if self._socket:
            await self._socket.close()

    def _lost(self, closed: ConnectionClosed) -> None:
        self._socket, self._announced = None, False
        self.ended = closed.rcvd.code if closed.rcvd else 0
        if self.ended in NOT_ALLOWED:
            reason = (closed.rcvd and closed.rcvd.reason) or "not allowed"
            raise NotAllowed(f"The Parley at {self.url} hung up: {reason}.", code="hung_up") from None
        self._pause = self._backoff.next(unreachable(self.url, closed))
