"""Connects Parley's MCP client to the scripted server of mcp_odd.py, and calls its tool."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from services.executor.mcp import McpServerConfig, McpTools
from tests.support.mcp_odd import Script, over_http
from tests.support.timeouts import WAIT_TIMEOUT

SERVER = str(Path(__file__).with_name("mcp_odd.py"))
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}}
GOOD = {"name": "good", "description": "works", "inputSchema": SCHEMA}
TRANSPORTS = ("stdio", "http", "events")


@asynccontextmanager
async def connected(script: Script, transport: str = "stdio") -> AsyncIterator[McpTools]:
    async with AsyncExitStack() as stack:
        if transport == "stdio":
            file = Path(stack.enter_context(TemporaryDirectory())) / "script"
            file.write_text(json.dumps(script))
            config = McpServerConfig(name="s", command=sys.executable, args=(SERVER, str(file)), timeout=20)
        else:
            url = await stack.enter_async_context(over_http({**script, "events": transport == "events"}))
            config = McpServerConfig(name="s", url=url, timeout=20)
        changed = asyncio.Event()
        tools = McpTools([config], changed=changed.set)
        await tools.start()
        stack.push_async_callback(tools.stop)
        async with asyncio.timeout(WAIT_TIMEOUT):
            await changed.wait()
        yield tools


async def call(script: Script, transport: str = "stdio") -> Any:
    """The value of a call of a server with one tool."""
    async with connected({"pages": [{"tools": [GOOD]}], **script}, transport) as tools:
        outcome = await tools.call("s.good", {})
        assert outcome.ok, outcome.error
        assert (await tools.call("s.good", {})).ok, "the server is still there"
        return outcome.value


NOTICE = '{"jsonrpc": "2.0", "method": "notifications/%s", "params": %s}'


def blocks(*content: Any, **more: Any) -> dict[str, Any]:
    return {"content": list(content), **more}


def text(words: Any) -> dict[str, Any]:
    return {"type": "text", "text": words}
