"""The tools of MCP servers, which may change at any time."""

from collections.abc import Iterable
from functools import partial
from typing import Any

from pydantic import JsonValue

from parley import Context, Failed, Tool
from parley.protocol.tools import ToolSpec
from services.executor.mcp.server import McpTools
from services.executor.sources.packs import register_tool
from services.executor.tools import Arguments, RegisteredTool

MAX_TIMEOUT = 3600.0  # seconds; each server's own deadline ends its calls earlier


class McpSource:
    """A source of tools. A server's name is the origin of its tools."""

    def __init__(self, servers: McpTools) -> None:
        self._servers = servers

    @property
    def version(self) -> int:
        return self._servers.version

    def tools(self) -> Iterable[RegisteredTool]:
        return (register_tool(self._tool(spec), spec.origin) for spec in self._servers.specs())

    def troubles(self) -> Iterable[str]:
        return self._servers.troubles()

    def _tool(self, spec: ToolSpec) -> Tool[Any]:
        return Tool(
            name=spec.name,
            arguments=spec.parameters,
            run=partial(self._run, spec.name),
            description=spec.description,
            returns=spec.returns,
            effect=spec.effect,
            policy=spec.policy,
            seconds=MAX_TIMEOUT,
        )

    async def _run(self, name: str, arguments: Arguments, _: Context) -> JsonValue:
        outcome = await self._servers.call(name, arguments)
        if not outcome.ok:
            raise Failed(outcome.error, result=outcome.value, unknown=outcome.unknown)
        return outcome.value
