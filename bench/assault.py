"""Random sockets against a running gateway, and what it answered: who breaks it, breaks it here."""

import asyncio
import json
import random
import secrets
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from bench.frames import Frames
from services.gateway.transport import MAX_FRAME

A_SOCKET = 48  # frames: with the first and the last as many as a socket may send at once
POOL, RENEWED = 12, 40  # sessions that are talked about; sockets after which one of them is another
PATIENCE = 120.0  # seconds for an answer
LAST = "the-last"
INTERNAL = ("failed", "internal")


@dataclass
class Told:
    """What came of it. `wrong` is what must never be; the rest is for the report.

    `lost` connections were given up for want of a pong: on a busy machine this program may be late with it.
    """

    frames: int = 0
    sockets: int = 0
    lost: int = 0
    messages: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    closed: Counter[int] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)


class Assault:
    """At least `frames` frames over sockets that live shortly, `at_once` at a time; the same ones for the same seed."""

    def __init__(
        self, url: str, *, seed: int, frames: int, at_once: int, headers: Mapping[str, str] | None = None
    ) -> None:
        self.told = Told()
        self._url, self._headers = url, headers or {}
        self._seed, self._wanted, self._at_once = seed, frames, at_once
        self._pool = [secrets.token_hex(8) for _ in range(POOL)]
        self._numbers = iter(range(2 * -(-frames // A_SOCKET)))  # not all of their frames count

    async def run(self) -> Told:
        async with asyncio.TaskGroup() as group:
            for _ in range(self._at_once):
                group.create_task(self._one_after_another())
        return self.told

    async def _one_after_another(self) -> None:
        for number in self._numbers:
            if self.told.frames >= self._wanted:
                return
            if number % RENEWED == RENEWED - 1:
                self._pool[number // RENEWED % POOL] = secrets.token_hex(8)
            with suppress(ConnectionClosed):
                await self._socket(number)
            self.told.sockets += 1

    async def _socket(self, number: int) -> None:
        """Some frames, a last one whose answer tells that all have been looked at, and one of several ends."""
        chance = random.Random(f"{self._seed} {number}")
        made = Frames(chance.getrandbits(32), self._pool)
        frames = [made.frame() for _ in range(A_SOCKET)]
        frames = [frame for frame in frames if '"close"' not in str(frame)]  # said last, where it is said at all
        async with connect(
            self._url,
            additional_headers=self._headers,
            max_size=None,
            open_timeout=60,
            close_timeout=10,
            proxy=None,
            ping_interval=None,
        ) as socket:
            hearing = asyncio.create_task(self._hear(socket))
            try:
                for frame in frames:
                    await socket.send(frame)
                await socket.send(json.dumps({"type": "resume", "session_id": "nobody-is-here", "id": LAST}))
                async with asyncio.timeout(PATIENCE):
                    await hearing
                self.told.frames += len(frames)
            except TimeoutError:
                self.told.wrong.append(f"socket {number}: no answer in {PATIENCE:g} s")
            finally:
                hearing.cancel()
            await self._end(socket, chance)

    async def _end(self, socket: ClientConnection, chance: random.Random) -> None:
        match chance.randrange(5):
            case 0:
                await socket.send('{"type": "close"}')
                await self._closed(socket, 1000)
            case 1:
                await socket.send("x" * (MAX_FRAME + 1))
                await self._closed(socket, 1009)
            case 2:
                socket.transport.write(b"\x81\x02\xff\xfe")  # neither masked nor UTF-8
                await self._closed(socket, 1002)
            case 3:
                socket.transport.abort()
            case _:
                await socket.close()

    async def _closed(self, socket: ClientConnection, expected: int) -> None:
        async with asyncio.timeout(PATIENCE):
            with suppress(ConnectionClosed):
                while True:
                    await socket.recv()
        self.told.frames += 1
        self.told.closed[socket.close_code or 0] += 1
        if socket.close_code not in (expected, 1000) and not self._is_lost(socket):
            self.told.wrong.append(f"a socket closed with {socket.close_code}, not {expected}")

    def _is_lost(self, socket: ClientConnection) -> bool:
        found = socket.close_code == 1006 or "keepalive" in (socket.close_reason or "")
        self.told.lost += found
        return found

    async def _hear(self, socket: ClientConnection) -> None:
        """Until the last frame is answered. A socket that the gateway ends before that is noted."""
        try:
            async for text in socket:
                message = json.loads(text)
                self.told.messages[message["type"]] += 1
                if message["type"] == "error":
                    self.told.errors[message["code"]] += 1
                    if message["code"] in INTERNAL:
                        self.told.wrong.append(str(message))
                    if message["reply_to"] == LAST:
                        return
        except ConnectionClosed:
            pass
        code = socket.close_code or 0
        self.told.closed[code] += 1
        if code != 1013 and not self._is_lost(socket):  # too slow: its history was longer than its buffers
            self.told.wrong.append(f"the gateway ended a socket with {code} {socket.close_reason}")
