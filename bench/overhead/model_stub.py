"""An OpenAI-compatible endpoint that streams a reply instantly, and remembers when it sent the first piece."""

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from bench.overhead.workloads import PLAN

PIECE_CHARS = 40  # characters
RESPONSE_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


class ModelStub:
    """Answers every request with the plan. `first_piece_at`: when it sent the first piece of the last reply."""

    def __init__(self) -> None:
        self.first_piece_at = 0.0
        self.url = ""
        self._text = PLAN.model_dump_json()

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        sizes = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        await reader.readexactly(int(sizes[0].partition(b":")[2]))
        writer.write(RESPONSE_HEAD)
        self.first_piece_at = time.perf_counter()
        for start in range(0, len(self._text), PIECE_CHARS):
            writer.write(_piece({"content": self._text[start : start + PIECE_CHARS]}))
            await writer.drain()
        writer.write(_piece({}, finish="stop") + b"data: [DONE]\n\n")
        await writer.drain()
        writer.close()


def _piece(delta: dict[str, Any], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "instant", "choices": [choice]}
    return f"data: {json.dumps(chunk)}\n\n".encode()


@asynccontextmanager
async def running_stub() -> AsyncIterator[ModelStub]:
    """A stub that listens on localhost inside the block."""
    stub = ModelStub()
    server = await asyncio.start_server(stub.answer, "127.0.0.1", 0)
    async with server:
        stub.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        yield stub
