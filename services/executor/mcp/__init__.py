"""Tools of MCP servers: a file lists the servers; `McpTools` keeps them connected and calls their tools."""

from services.executor.mcp.config import BadConfig, McpServerConfig, read_config
from services.executor.mcp.results import McpOutcome
from services.executor.mcp.server import McpTools

__all__ = ["BadConfig", "McpOutcome", "McpServerConfig", "McpTools", "read_config"]
