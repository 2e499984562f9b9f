"""Tools of MCP servers: a file names the servers, `McpTools` keeps them connected and calls what they offer."""

from services.executor.mcp.config import BadConfig, ServerConfig, read_config
from services.executor.mcp.results import Outcome
from services.executor.mcp.tools import McpTools

__all__ = ["BadConfig", "McpTools", "Outcome", "ServerConfig", "read_config"]
