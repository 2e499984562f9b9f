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

from services.executor.mcp import McpOutcome, McpServerConfig, McpTools
from services.executor.mcp.specs import build_offer
from shared.plan_checks.argument_kinds import argument_kind
from tests.support.timeouts import WAIT_TIMEOUT

SERVER = str(Path(__file__).parents[1] / "support" / "mcp_hostile.py")
BYTES = 4 * 1024 * 1024
type Reply = Callable[[dict[str, Any]], bytes]


@asynccontextmanager
async def connected(config: McpServerConfig) -> AsyncIterator[tuple[McpTools, asyncio.Event]]:
    changed = asyncio.Event()
    tools = McpTools([config], message_bytes=BYTES, changed=changed.set)
    await tools.start()
    try:
        async with asyncio.timeout(WAIT_TIMEOUT):
            while not tools.specs():
                await changed.wait()
                changed.clear()
        yield tools, changed
    finally:
        await tools.stop()


def stdio(mode: str) -> McpServerConfig:
    return McpServerConfig(name="evil", command=sys.executable, args=(SERVER, mode), timeout=60)


async def call_tool(config: McpServerConfig) -> McpOutcome:
    """Call the tool once; the call must end well before its own timeout of a minute."""
    async with connected(config) as (tools, _), asyncio.timeout(WAIT_TIMEOUT):
        return await tools.call("evil.act", {})


@pytest.mark.parametrize(
    ("mode", "reason"),
    [
        ("endless", "it sent a message of more than 4,194,304 bytes"),
        ("containers", "it sent a message of more than 500,000 lists and objects"),
        ("unreadable", "it sent a message that cannot be read"),
        ("noise", "it sent more than 10,000 lines that are no messages"),
    ],
)
async def test_a_server_that_sends_too_much_or_nonsense_is_ended_and_reported(mode: str, reason: str) -> None:
    async with connected(stdio(mode)) as (tools, changed), asyncio.timeout(WAIT_TIMEOUT):
        outcome = await tools.call("evil.act", {})
        assert (outcome.ok, outcome.unknown) == (False, True)
        assert reason in outcome.error
        while not any(reason in trouble for trouble in tools.troubles()):
            await changed.wait()
            changed.clear()


async def test_a_result_is_not_matched_with_the_servers_own_pattern() -> None:
    """The library would match it in the event loop, and block the loop for ever."""
    assert await call_tool(stdio("pattern")) == McpOutcome(True, {"a": "a" * 60 + "!"})


async def test_a_server_cannot_weaken_argument_kinds_and_unusable_result_schemas_are_ignored() -> None:
    server = stdio("plain")
    parameters = {"type": "object", "properties": {"sql": {"type": "string", "x-kind": "text"}, "q": {"x-kind": "sql"}}}
    results: list[Any] = [
        {"type": "object", "properties": {}},
        {"type": "array"},
        "none",
        {"type": "object", "x": "x" * 20_000},
    ]
    tools = [
        {"name": f"t{number}", "inputSchema": parameters, "outputSchema": schema}
        for number, schema in enumerate(results)
    ]
    specs = build_offer(server, tools).specs.values()
    assert [spec.returns for spec in specs] == [results[0], None, None, None]
    assert {argument_kind("sql", spec.parameters) for spec in specs} == {"sql"}
    assert {argument_kind("q", spec.parameters) for spec in specs} == {"sql"}


async def test_a_write_tool_that_later_claims_to_be_a_read_stays_a_write() -> None:
    async with connected(stdio("changing")) as (tools, changed), asyncio.timeout(WAIT_TIMEOUT):
        before = tools.specs()
        assert (await tools.call("evil.act", {})).ok
        while not tools.troubles():
            await changed.wait()
            changed.clear()
        assert tools.specs() == before
        assert before[0].effect == "write"
        assert "has another description and effect now" in tools.troubles()[0]


# --- over HTTP


def result_response(message: dict[str, Any], result: dict[str, Any]) -> bytes:
    return http_response(json.dumps({"jsonrpc": "2.0", "id": message.get("id"), "result": result}).encode())


def http_response(body: bytes, kind: str = "application/json", *more: str, length: int | None = None) -> bytes:
    size = len(body) if length is None else length
    head = "\r\n".join(["HTTP/1.1 200 OK", f"content-type: {kind}", f"content-length: {size}", *more])
    return f"{head}\r\n\r\n".encode() + body


@asynccontextmanager
async def serving(reply: Reply) -> AsyncIterator[McpServerConfig]:
    """A server that behaves correctly until the tool is called; then it sends the bytes of `reply` repeatedly."""

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
                    handshake = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}
                    writer.write(result_response(message, handshake | {"serverInfo": {"name": "x", "version": "1"}}))
                case "tools/list":
                    tool = {"name": "act", "inputSchema": {"type": "object"}}
                    writer.write(result_response(message, {"tools": [tool]}))
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


REDIRECT = b"HTTP/1.1 307 Moved\r\nlocation: http://127.0.0.2:9/mcp\r\ncontent-length: 0\r\n\r\n"
REPLIES: dict[str, tuple[Reply, str]] = {
    "a body without end": (
        lambda _: http_response(b"x" * 65_536, length=1 << 40),
        "a message of more than 4,194,304 bytes",
    ),
    "an event without end": (
        lambda _: http_response(b"data: " + b"x" * 65_536, "text/event-stream", length=1 << 40),
        "a message of more than 4,194,304 bytes",
    ),
    "compressed": (
        lambda _: http_response(gzip.compress(b"x" * 100_000_000), "application/json", "content-encoding: gzip"),
        "a compressed answer",
    ),
    "unreadable": (
        lambda _: http_response(b'{"jsonrpc":"2.0","id":1,"result":{"\\ud800'),
        "Failed to parse JSON response",
    ),
    "another host": (lambda _: REDIRECT, "Redirect to http://127.0.0.2:9/mcp not followed"),
}


@pytest.mark.parametrize("name", REPLIES)
async def test_a_hostile_http_reply_is_reported_at_once(name: str) -> None:
    reply, reason = REPLIES[name]
    async with serving(reply) as config:
        outcome = await call_tool(config)
    assert not outcome.ok
    assert reason in outcome.error
