"""WebSocket fuzzer: sends random frames to a running gateway and records what it answers."""

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

from services.gateway.live.http_protocol import MAX_FRAME_BYTES
from tests.support.frame_generator import FrameGenerator
from tests.support.timeouts import WAIT_TIMEOUT

FRAMES_PER_SOCKET = 48  # with the last one, as many as a socket may send in one burst
SESSION_POOL_SIZE, SOCKETS_PER_SESSION = (
    12,
    40,
)  # sessions the frames are about; one is replaced after this many sockets
ANSWER_TIMEOUT = 120.0  # seconds
LAST_ID = "the-last"
INTERNAL_ERRORS = ("failed", "internal")


@dataclass
class WebSocketResult:
    """Counts for the report. `violations` must stay empty.

    `lost_connections` were closed because a pong was missing: on a busy machine this program may send it late.
    """

    frames: int = 0
    sockets: int = 0
    lost_connections: int = 0
    messages: Counter[str] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    close_codes: Counter[int] = field(default_factory=Counter)
    violations: list[str] = field(default_factory=list)


class WebSocketFuzzer:
    """Sends at least `frames` frames over short-lived sockets, `concurrency` at a time. A seed fixes the frames."""

    def __init__(
        self, url: str, *, seed: int, frames: int, concurrency: int, headers: Mapping[str, str] | None = None
    ) -> None:
        self.result = WebSocketResult()
        self._url, self._headers = url, headers or {}
        self._seed, self._frames, self._concurrency = seed, frames, concurrency
        self._session_ids = [secrets.token_hex(8) for _ in range(SESSION_POOL_SIZE)]
        self._socket_numbers = iter(
            range(2 * -(-frames // FRAMES_PER_SOCKET))
        )  # twice as many as needed: not every frame counts

    async def run(self) -> WebSocketResult:
        async with asyncio.TaskGroup() as group:
            for _ in range(self._concurrency):
                group.create_task(self._run_sockets())
        return self.result

    async def _run_sockets(self) -> None:
        for number in self._socket_numbers:
            if self.result.frames >= self._frames:
                return
            if number % SOCKETS_PER_SESSION == SOCKETS_PER_SESSION - 1:
                self._session_ids[number // SOCKETS_PER_SESSION % SESSION_POOL_SIZE] = secrets.token_hex(8)
            with suppress(ConnectionClosed):
                await self._run_socket(number)
            self.result.sockets += 1

    async def _run_socket(self, number: int) -> None:
        """Send frames, then one whose answer proves that all were processed, then close in one of several ways."""
        chance = random.Random(f"{self._seed} {number}")
        generator = FrameGenerator(chance.getrandbits(32), self._session_ids)
        frames = [generator.frame() for _ in range(FRAMES_PER_SOCKET)]
        frames = [frame for frame in frames if '"close"' not in str(frame)]  # only `_close` sends it
        async with connect(
            self._url,
            additional_headers=self._headers,
            max_size=None,
            open_timeout=WAIT_TIMEOUT,
            close_timeout=10,
            proxy=None,
            ping_interval=None,
        ) as socket:
            receiving = asyncio.create_task(self._receive(socket))
            try:
                for frame in frames:
                    await socket.send(frame)
                await socket.send(json.dumps({"type": "resume", "session_id": "nobody-is-here", "id": LAST_ID}))
                async with asyncio.timeout(ANSWER_TIMEOUT):
                    await receiving
                self.result.frames += len(frames)
            except TimeoutError:
                self.result.violations.append(f"socket {number}: no answer in {ANSWER_TIMEOUT:g} s")
            finally:
                receiving.cancel()
            await self._close(socket, chance)

    async def _close(self, socket: ClientConnection, chance: random.Random) -> None:
        match chance.randrange(5):
            case 0:
                await socket.send('{"type": "close"}')
                await self._expect_close(socket, 1000)
            case 1:
                await socket.send("x" * (MAX_FRAME_BYTES + 1))
                await self._expect_close(socket, 1009)
            case 2:
                socket.transport.write(b"\x81\x02\xff\xfe")  # neither masked nor UTF-8
                await self._expect_close(socket, 1002)
            case 3:
                socket.transport.abort()
            case _:
                await socket.close()

    async def _expect_close(self, socket: ClientConnection, expected: int) -> None:
        async with asyncio.timeout(ANSWER_TIMEOUT):
            with suppress(ConnectionClosed):
                while True:
                    await socket.recv()
        self.result.frames += 1
        self.result.close_codes[socket.close_code or 0] += 1
        if socket.close_code not in (expected, 1000) and not self._count_if_lost(socket):
            self.result.violations.append(f"a socket closed with {socket.close_code}, not {expected}")

    def _count_if_lost(self, socket: ClientConnection) -> bool:
        is_lost = socket.close_code == 1006 or "keepalive" in (socket.close_reason or "")
        self.result.lost_connections += is_lost
        return is_lost

    async def _receive(self, socket: ClientConnection) -> None:
        """Read until the last frame is answered. Record a socket that the gateway closes before that."""
        try:
            async for text in socket:
                message = json.loads(text)
                self.result.messages[message["type"]] += 1
                if message["type"] == "error":
                    self.result.errors[message["code"]] += 1
                    if message["code"] in INTERNAL_ERRORS:
                        self.result.violations.append(str(message))
                    if message["reply_to"] == LAST_ID:
                        return
        except ConnectionClosed:
            pass
        code = socket.close_code or 0
        self.result.close_codes[code] += 1
        if code != 1013 and not self._count_if_lost(socket):  # too slow: its history was longer than its buffers
            self.result.violations.append(f"the gateway ended a socket with {code} {socket.close_reason}")
