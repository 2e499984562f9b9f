"""The tools of all configured MCP servers, as one list to offer and one way to call."""

import asyncio
from collections.abc import Callable, Mapping, Sequence

from pydantic import JsonValue

from parley.protocol.tools import ToolSpec
from services.executor.mcp.config import ServerConfig
from services.executor.mcp.results import Outcome
from services.executor.mcp.server import Server

MESSAGE_BYTES = 32 * 1024 * 1024


class McpTools:
    """`start()` returns at once: servers come when they come, and `version` grows whenever list or troubles may be
    others. One message of a server has at most `message_bytes`."""

    def __init__(
        self,
        config: Sequence[ServerConfig],
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
        """Every connection closed, every child ended (killed where it does not end by itself within seconds)."""
        await asyncio.gather(*(server.stop() for server in self._servers.values()))

    def _changed(self) -> None:
        self.version += 1
        self._on_change()

    def specs(self) -> tuple[ToolSpec, ...]:
        """By name. Those of a server that is away stay: it is expected back, and a call says that it is away."""
        found = [spec for server in self._servers.values() for spec in server.offer.specs.values()]
        return tuple(sorted(found, key=lambda spec: spec.name))

    def troubles(self) -> tuple[str, ...]:
        """Which servers are away and why, and what of their tools was left out."""
        told: list[str] = []
        for name, server in self._servers.items():
            if server.trouble:
                told.append(f"The MCP server “{name}” is away: {server.trouble}.")
            told += [f"The MCP server “{name}”: {line}" for line in server.offer.left_out]
        return tuple(told)

    async def call(self, name: str, arguments: Mapping[str, JsonValue], *, timeout: float | None = None) -> Outcome:  # noqa: ASYNC109
        """Call the tool that `specs` has under this name, once. `timeout` in seconds; the server's own is the most."""
        server = self._servers.get(name.partition(".")[0])
        tool = server.offer.called.get(name) if server else None
        if server is None or tool is None:
            return Outcome(False, error=f"There is no tool “{name}” (any more): look at the list of tools again.")
        limit = min(timeout or server.config.timeout, server.config.timeout)
        return await server.call(tool, arguments, limit=limit)
