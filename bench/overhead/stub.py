"""An OpenAI-compatible endpoint that answers at once, in pieces, and notes when it sent the first one."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from bench.overhead.kinds import PLAN

PIECE = 40  # characters
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


class Stub:
    """Whatever is asked, the plan is the answer. `first`: when the first piece of the last reply was sent."""

    def __init__(self) -> None:
        self.first = 0.0
        self.url = ""
        self._text = PLAN.model_dump_json()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        sizes = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        await reader.readexactly(int(sizes[0].partition(b":")[2]))
        writer.write(HEAD)
        self.first = time.perf_counter()
        for start in range(0, len(self._text), PIECE):
            writer.write(_piece({"content": self._text[start : start + PIECE]}))
            await writer.drain()
        writer.write(_piece({}, finish="stop") + b"data: [DONE]\n\n")
        await writer.drain()
        writer.close()


def _piece(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "instant", "choices": [choice]}
    return f"data: {json.dumps(chunk)}\n\n".encode()


@asynccontextmanager
async def stub() -> AsyncIterator[Stub]:
    """Listening on this machine."""
    one = Stub()
    server = await asyncio.start_server(one.answer, "127.0.0.1", 0)
    async with server:
        one.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        yield one
