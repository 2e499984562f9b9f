"""Model servers that send without end: a call ends after a bounded number of bytes, with an error without the key."""

import asyncio
import gzip
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import structlog
from pydantic import BaseModel

from shared.llm import ModelError, ModelRequest
from shared.llm.client import OpenAIModel
from shared.llm.embeddings import Embeddings
from shared.settings import Settings
from tests.support.timeouts import WAIT_TIMEOUT

KEY = "sk-very-secret-key"
MESSAGE, RESPONSE = 256 * 1024, 1024 * 1024
type Send = Callable[[bytes], Awaitable[None]]


class Answer(BaseModel):
    text: str


class Server:
    """A server that replies to every POST with `head`, then `piece` for ever; `sent` counts the bytes."""

    def __init__(self, head: bytes, piece: bytes) -> None:
        self.head, self.piece = head, piece
        self.sent = self.requests = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            await reader.readexactly(int(head.partition("content-length:")[2].split("\r\n")[0]))
            self.requests += 1
            data = self.head
            while True:
                writer.write(data)
                await writer.drain()
                self.sent += len(data)
                data = self.piece
        except ConnectionError:
            pass
        finally:
            writer.close()


@asynccontextmanager
async def serving(server: Server) -> AsyncIterator[Settings]:
    tcp_server = await asyncio.start_server(server.serve, "127.0.0.1", 0)
    async with tcp_server:
        port = tcp_server.sockets[0].getsockname()[1]
        yield Settings.model_validate(
            {
                "openai_base_url": f"http://127.0.0.1:{port}/v1",
                "openai_api_key": KEY,
                "openai_model": "m",
                "parley_embedding_model": "e",
                "model_timeout": 60,
                "model_max_message_bytes": MESSAGE,
                "model_max_response_bytes": RESPONSE,
            }
        )


def head(kind: str, status: str = "200 OK", *more: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", f"content-type: {kind}", *more, "", ""]).encode()


def chunk(**fields: Any) -> bytes:
    body = {"id": "a", "object": "chat.completion.chunk", "created": 1, "model": "m"} | fields
    return f"data: {json.dumps(body)}\n\n".encode()


EVENTS = head("text/event-stream")
OPEN = b'data: {"choices":[{"index":0,"delta":{"content":"'
JUNK = chunk(choices=[{"index": 0, "delta": {"content": ""}}], junk="y" * 50_000)
TEXT = b"x" * 65_536
SERVERS = {
    "a line without end": (Server(EVENTS + OPEN, TEXT), "a message of more than 262,144 bytes"),
    "an event of many lines": (Server(EVENTS, b"data: x\n" * 8_000), "a message of more than 262,144 bytes"),
    "events without content": (Server(EVENTS, JUNK), "an answer of more than 1,048,576 bytes"),
    "comments": (Server(EVENTS, b": still here\n\n" * 4_000), "an answer of more than 1,048,576 bytes"),
    "a body in one piece": (Server(head("application/json") + b"[", TEXT), "a message of more than 262,144 bytes"),
    "an error": (Server(head("application/json", "500 Oh"), TEXT), "a message of more than 262,144 bytes"),
    "a refusal": (Server(head("text/html", f"401 {KEY}"), KEY.encode() * 4_000), "a message of more than"),
    "compressed": (
        Server(head("application/json", "200 OK", "content-encoding: gzip"), gzip.compress(b" " * 50_000_000)),
        "a compressed answer",
    ),
}


@pytest.mark.parametrize("name", SERVERS)
async def test_endless_replies_are_ended(name: str) -> None:
    server, reason = SERVERS[name]
    async with serving(server) as settings, asyncio.timeout(WAIT_TIMEOUT):
        model = OpenAIModel(settings, first_wait=0.01)
        with pytest.raises(ModelError) as caught:
            await model.ask(ModelRequest("planner", [{"role": "user", "content": "hi"}], Answer, on_call=ignore_call))
        await model.aclose()
    assert reason in caught.value.reason
    assert KEY not in f"{caught.value.reason} {caught.value!r}"
    assert server.requests == 1
    assert server.sent < 20 * RESPONSE  # includes bytes in the kernel's buffers


async def test_endless_headers_are_ended() -> None:
    server = Server(b"HTTP/1.1 200 OK\r\n", b"x-more: " + b"y" * 8_000 + b"\r\n")
    async with serving(server) as settings, asyncio.timeout(WAIT_TIMEOUT):
        model = OpenAIModel(settings, first_wait=0.01)
        with pytest.raises(ModelError, match="connection to the model broke"):
            await model.ask(ModelRequest("planner", [{"role": "user", "content": "hi"}], Answer, on_call=ignore_call))
        await model.aclose()


async def test_endless_embeddings_are_ended() -> None:
    server = Server(head("application/json") + b'{"data":[{"index":0,"embedding":[', b"0.5," * 10_000)
    async with serving(server) as settings:
        embeddings = Embeddings(settings)
        with structlog.testing.capture_logs() as logs:
            assert await embeddings.embed(["a"]) is None
        await embeddings.aclose()
    assert "MessageTooLong" in logs[0]["error"] or "APIConnectionError" in logs[0]["error"]
    assert KEY not in str(logs)


async def test_thousands_of_events_at_once_do_not_block_the_loop() -> None:
    """Events that arrive in one piece occupy the loop for at most 30 ms on an idle machine; the test allows 1 s."""
    server = Server(EVENTS, chunk(choices=[]) * 4_000)
    pauses: list[float] = []

    async def watch() -> None:
        while True:
            before = time.thread_time()
            await asyncio.sleep(0)
            pauses.append(time.thread_time() - before)

    async with serving(server) as settings, asyncio.timeout(WAIT_TIMEOUT):
        model = OpenAIModel(settings, first_wait=0.01)
        watching = asyncio.create_task(watch())
        with pytest.raises(ModelError):
            await model.ask(ModelRequest("planner", [{"role": "user", "content": "hi"}], Answer, on_call=ignore_call))
        watching.cancel()
        await model.aclose()
    assert max(pauses) < 1
    assert len(pauses) > RESPONSE / 65_536


async def ignore_call(*_: object) -> None:
    """An `on_call` that ignores the cost of the call."""
