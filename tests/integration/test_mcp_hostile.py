"""Hostile MCP servers: each is reported at once, costs a bounded amount, and keeps its pinned tools."""

import asyncio
import gzip
import json
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp.types import Tool

from services.executor.mcp import McpOutcome, McpServerConfig, McpTools
from services.executor.mcp.specs import build_offer
from services.executor.mcp.transport import OUTPUT_SCHEMA
from shared.plan_checks.argument_kinds import argument_kind

SERVER = str(Path(__file__).parents[1] / "support" / "mcp_hostile.py")
BYTES = 4 * 1024 * 1024
type Reply = Callable[[dict[str, Any]], bytes]


@asynccontextmanager
async def connected(config: McpServerConfig) -> AsyncIterator[tuple[McpTools, asyncio.Event]]:
    changed = asyncio.Event()
    tools = McpTools([config], message_bytes=BYTES, changed=changed.set)
    await tools.start()
    try:
        async with asyncio.timeout(30):
            while not tools.specs():
                await changed.wait()
                changed.clear()
        yield tools, changed
    finally:
        await tools.stop()


def stdio(mode: str) -> McpServerConfig:
    return McpServerConfig(name="evil", command=sys.executable, args=(SERVER, mode), timeout=60)


async def called(config: McpServerConfig) -> McpOutcome:
    """A call that would end after a minute by itself."""
    async with connected(config) as (tools, _), asyncio.timeout(30):
        return await tools.call("evil.act", {})


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("endless", "it sent a message of more than 4,194,304 bytes"),
        ("containers", "it sent a message of more than 500,000 lists and objects"),
        ("unreadable", "it sent a message that cannot be read"),
        ("noise", "it sent more than 1,000 lines that are no messages"),
    ],
)
async def test_a_server_that_sends_too_much_or_nonsense_is_ended_and_reported(mode: str, reason: str) -> None:
    async with connected(stdio(mode)) as (tools, changed), asyncio.timeout(30):
        outcome = await tools.call("evil.act", {})
        assert (outcome.ok, outcome.unknown) == (False, True)
        assert reason in outcome.error
        while not any(reason in trouble for trouble in tools.troubles()):
            await changed.wait()
            changed.clear()


async def test_a_result_is_not_held_against_the_servers_own_pattern() -> None:
    """The library would do so in the event loop, and never be done."""
    assert await called(stdio("pattern")) == McpOutcome(True, {"a": "a" * 60 + "!"})


async def test_what_a_server_says_of_its_arguments_and_results_is_read_with_care() -> None:
    server = stdio("plain")
    weak = {"type": "object", "properties": {"sql": {"type": "string", "x-kind": "text"}, "q": {"x-kind": "sql"}}}
    results = [{"type": "object", "properties": {}}, {"type": "array"}, "none", {"type": "object", "x": "x" * 20_000}]
    tools = [
        Tool.model_validate({"name": f"t{number}", "inputSchema": weak, "_meta": {OUTPUT_SCHEMA: schema}})
        for number, schema in enumerate(results)
    ]
    specs = build_offer(server, tools).specs.values()
    assert [spec.returns for spec in specs] == [results[0], None, None, None]
    assert {argument_kind("sql", spec.parameters) for spec in specs} == {"sql"}
    assert {argument_kind("q", spec.parameters) for spec in specs} == {"sql"}


async def test_a_tool_that_turns_into_a_read_is_held_to_what_it_was() -> None:
    async with connected(stdio("changing")) as (tools, changed), asyncio.timeout(30):
        before = tools.specs()
        assert (await tools.call("evil.act", {})).ok
        while not tools.troubles():
            await changed.wait()
            changed.clear()
        assert tools.specs() == before
        assert before[0].effect == "write"
        assert "has another description and effect now" in tools.troubles()[0]


# --- over HTTP


def ordinary(message: dict[str, Any], result: dict[str, Any]) -> bytes:
    return answer(json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": result}).encode())


def answer(body: bytes, kind: str = "application/json", *more: str, length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    head = "\r\n".join(["HTTP/1.1 200 OK", f"content-type: {kind}", f"content-length: {size}", *more])
    return f"{head}\r\n\r\n".encode() + body


@asynccontextmanager
async def serving(reply: Reply) -> AsyncIterator[McpServerConfig]:
    """A server that is honest until the tool is called; then it sends what `reply` makes, again and again."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            size = int(head.partition("content-length:")[2].split("\r\n")[0] or 0)
            message = json.loads(await reader.readexactly(size)) if size else {}
            match message.get("method"):
                case "tools/call":
                    data = reply(message)
                    for _ in range(200):
                        writer.write(data)
                        await writer.drain()
                        data = data[-65_536:]
                case "initialize":
                    known = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
                    writer.write(ordinary(message, known | {"serverInfo": {"name": "x", "version": "1"}}))
                case "tools/list":
                    tool = {"name": "act", "inputSchema": {"type": "object"}}
                    writer.write(ordinary(message, {"tools": [tool]}))
                case "server/discover":
                    writer.write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
                case _:
                    writer.write(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        yield McpServerConfig(name="evil", url=f"http://127.0.0.1:{port}/mcp", timeout=60)


ELSEWHERE = b"HTTP/1.1 307 Moved\r\nlocation: http://127.0.0.2:9/mcp\r\ncontent-length: 0\r\n\r\n"
REPLIES: dict[str, tuple[Reply, str]] = {
    "a body without end": (lambda _: answer(b"x" * 65_536, length=1 << 40), "a message of more than 4,194,304 bytes"),
    "an event without end": (
        lambda _: answer(b"data: " + b"x" * 65_536, "text/event-stream", length=1 << 40),
        "a message of more than 4,194,304 bytes",
    ),
    "compressed": (
        lambda _: answer(gzip.compress(b"x" * 100_000_000), "application/json", "content-encoding: gzip"),
        "a compressed answer",
    ),
    "unreadable": (lambda _: answer(b'{"jsonrpc":"2.0","id":1,"result":{"\\ud800'), "Failed to parse JSON response"),
    "another host": (lambda _: ELSEWHERE, "Redirect to http://127.0.0.2:9/mcp not followed"),
}


@pytest.mark.parametrize("name", REPLIES)
async def test_over_http_it_is_reported_at_once_too(name: str) -> None:
    reply, reason = REPLIES[name]
    async with serving(reply) as config:
        outcome = await called(config)
    assert not outcome.ok
    assert reason in outcome.error
