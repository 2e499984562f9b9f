"""The tools of all configured MCP servers, as one list."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from pydantic import JsonValue

from parley.protocol.tools import ToolSpec
from services.executor.mcp.config import McpServerConfig
from services.executor.mcp.results import McpOutcome
from services.executor.mcp.server import Server

MESSAGE_BYTES = 32 * 1024 * 1024


class McpTools:
    """The configured servers. `start()` returns before they are connected.

    `version` grows whenever tools or troubles may have changed. A message of a server has at most `message_bytes`.
    """

    def __init__(
        self,
        config: Sequence[McpServerConfig],
        *,
        message_bytes: int = MESSAGE_BYTES,
        changed: Callable[[], None] = lambda: None,
    ) -> None:
        self.version = 0
        self._on_change = changed
        self._servers = {server.name: Server(server, self._changed, message_bytes=message_bytes) for server in config}

    async def start(self) -> None:
        for server in self._servers.values():
            server.start()

    async def stop(self) -> None:
        """Close every connection and end every child, by a kill if it does not exit within seconds."""
        await asyncio.gather(*(server.stop() for server in self._servers.values()))

    def _changed(self) -> None:
        self.version += 1
        self._on_change()

    def specs(self) -> tuple[ToolSpec, ...]:
        """All tools, sorted by name. Those of a disconnected server stay: it is being restarted."""
        specs = [spec for server in self._servers.values() for spec in server.offer.specs.values()]
        return tuple(sorted(specs, key=lambda spec: spec.name))

    def troubles(self) -> tuple[str, ...]:
        """Which servers are disconnected and why, and which of their tools were left out."""
        lines: list[str] = []
        for name, server in self._servers.items():
            if server.trouble:
                lines.append(f"The MCP server “{name}” is unavailable: {server.trouble}.")
            lines += [f"The MCP server “{name}”: {line}" for line in server.offer.left_out]
        return tuple(lines)

    async def call(self, name: str, arguments: Mapping[str, JsonValue], *, timeout: float | None = None) -> McpOutcome:  # noqa: ASYNC109
        """Call the tool with this name in `specs`, once. `timeout` is in seconds, and at most the server's own."""
        server = self._servers.get(name.partition(".")[0])
        tool = server.offer.server_names.get(name) if server else None
        if server is None or tool is None:
            return McpOutcome(False, error=f"There is no tool “{name}”, or it was removed: list the tools again.")
        limit = min(timeout or server.config.timeout, server.config.timeout)
        return await server.call(tool, arguments, limit=limit)
