"""The tools of MCP servers, as the executor's own are."""

from collections.abc import Iterable
from functools import partial

from services.executor.mcp.tools import McpTools
from services.executor.tools import Call, Result, Tool

LONGEST = 3600.0  # seconds: each server's own deadline is what ends its calls


class Foreign:
    """A source of tools that come and go."""

    def __init__(self, servers: McpTools) -> None:
        self._servers = servers

    def tools(self) -> Iterable[Tool]:
        return (Tool(spec, partial(self._run, spec.name), seconds=LONGEST) for spec in self._servers.specs())

    def troubles(self) -> Iterable[str]:
        return self._servers.troubles()

    async def _run(self, name: str, call: Call) -> Result:
        outcome = await self._servers.call(name, call.arguments)
        return Result(outcome.ok, outcome.value, outcome.error, outcome.unknown)
