"""Ways in which one user can slow the gateway for others: `python -m tests.support.greedy NAME URL KEY SECONDS`.

Use it only against a gateway on this machine. It repeats refused requests until the time is over.
"""

import asyncio
import json
import random
import secrets
import socket
import sys
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import httpx2
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from tests.support.http_client import http_client
from tests.support.timeouts import WAIT_TIMEOUT

REQUEST = "Help me create a simple calculator"
QUESTION = "Which 5 states have the most pending orders?"
# Lines of the compared plans: so many different ones that difflib ignores few of them as popular.
LETTERS = [chr(0x4E00 + number) for number in range(101)]


class Greedy:
    """A user of the gateway at this URL."""

    def __init__(self, url: str, key: str) -> None:
        self.url = url.rstrip("/")
        self._headers = {"Authorization": f"Bearer {key}"}
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=0)
        self.http = http_client(base_url=self.url, headers=self._headers, limits=limits)

    def socket(self, **options: Any) -> connect:
        url = self.url.replace("http", "ws", 1) + "/ws"
        return connect(url, additional_headers=self._headers, max_size=None, proxy=None, compression=None, **options)

    def socket_that_reads_nothing(self) -> connect:
        unread = socket.socket()
        unread.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        parts = urlsplit(self.url)
        unread.connect((parts.hostname, parts.port))
        return self.socket(sock=unread, max_queue=1)

    async def long_session(self, notes: str) -> str:
        """A session whose plan has these notes; its id."""
        session_id = str((await self.http.post("/api/sessions", json={"request": REQUEST})).json()["session_id"])
        async with asyncio.timeout(WAIT_TIMEOUT):
            while not (review := (await self.http.get(f"/api/sessions/{session_id}")).json().get("review")):  # noqa: ASYNC110
                await asyncio.sleep(0.1)
        await self.edit(session_id, review["version"], notes)
        return session_id

    async def edit(self, session_id: str, version: int, notes: str) -> int:
        edit = json.dumps({"type": "edit", "version": version, "steps": ["x"], "notes": notes}, ensure_ascii=False)
        headers = {"Content-Type": "application/json"}
        answer = await self.http.post(f"/api/sessions/{session_id}/messages", content=edit.encode(), headers=headers)
        return int(answer.raise_for_status().json()["version"])


async def _repeat(work: Callable[[], Awaitable[object]]) -> None:
    """Repeat this without end, also after errors."""
    while True:
        with suppress(OSError, ConnectionClosed, InvalidHandshake, TimeoutError, httpx2.HTTPError):
            await work()
        await asyncio.sleep(0.05)


async def _repeat_in_parallel(count: int, work: Callable[[], Awaitable[object]]) -> None:
    await asyncio.gather(*(_repeat(work) for _ in range(count)))


async def slow_readers(me: Greedy) -> None:
    """25 sockets that request a large snapshot 45 times, and read nothing."""
    session_id = await me.long_session("\U0001f600" * 50_000)

    async def ask() -> None:
        async with me.socket_that_reads_nothing() as connection:
            for _ in range(45):
                await connection.send(json.dumps({"type": "resume", "session_id": session_id, "after": 10**6}))
            await connection.wait_closed()

    await _repeat_in_parallel(25, ask)


async def eager_readers(me: Greedy) -> None:
    """25 sockets that request a large snapshot again and again, and read it."""
    session_id = await me.long_session("\U0001f600" * 50_000)

    async def ask() -> None:
        async with me.socket() as connection:
            await connection.send(json.dumps({"type": "resume", "session_id": session_id, "after": 10**6}))
            async for _ in connection:
                await connection.send(json.dumps({"type": "resume", "session_id": session_id, "after": 10**6}))

    await _repeat_in_parallel(25, ask)


async def slow_downloads(me: Greedy) -> None:
    """300 requests for a large snapshot whose answers are not read."""
    session_id = await me.long_session("\U0001f600" * 50_000)

    async def ask() -> None:
        async with me.http.stream("GET", f"/api/sessions/{session_id}"):
            await asyncio.sleep(60)

    await _repeat_in_parallel(300, ask)


async def sessions(me: Greedy) -> None:
    """20 sockets that begin ten sessions each, then reconnect."""

    async def begin() -> None:
        async with me.socket() as connection:
            for _ in range(10):
                message = {"type": "user_message", "content": REQUEST, "session_id": secrets.token_hex(8)}
                await connection.send(json.dumps(message))
                await connection.recv()

    await _repeat_in_parallel(20, begin)


async def waiting(me: Greedy) -> None:
    """200 requests that wait for their sessions."""
    body = {"messages": [{"role": "user", "content": QUESTION}], "timeout": 600.0, "stream": True}

    async def ask() -> None:
        async with me.http.stream("POST", "/api/chat", json=body) as answer:
            async for _ in answer.aiter_lines():
                pass

    await _repeat_in_parallel(200, ask)


async def differences(me: Greedy) -> None:
    """24 requests at once for the difference of two plans that are hard to compare, with a timeout of two seconds."""
    dice = random.Random(1)
    session_id = await me.long_session("\n".join(dice.choice(LETTERS) for _ in range(25_000)))
    old = int((await me.http.get(f"/api/sessions/{session_id}")).json()["review"]["version"])
    new = await me.edit(session_id, old, "\n".join(dice.choice(LETTERS) for _ in range(1_900)))
    newest = await me.edit(session_id, new, "\n".join(dice.choice(LETTERS) for _ in range(1_900)))

    async def ask() -> None:
        for versions in ({"from": old, "to": new}, {"from": new, "to": newest}):
            await me.http.get(f"/api/sessions/{session_id}/plans/diff", params=versions, timeout=2)

    await _repeat_in_parallel(24, ask)


WAYS = {way.__name__: way for way in (slow_readers, eager_readers, slow_downloads, sessions, waiting, differences)}


async def main(name: str, url: str, key: str, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await WAYS[name](Greedy(url, key))


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3], float(sys.argv[4])))
