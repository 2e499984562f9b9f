"""An MCP server with one tool that changes the world and keeps no keys: `python -m chaos.notes FILE`."""

import sys
from pathlib import Path

import anyio
from mcp.server.mcpserver import MCPServer


def build(path: Path) -> MCPServer:
    """`path` is the world: one line for each time the tool took effect."""
    server = MCPServer("trial", log_level="ERROR")

    @server.tool()
    async def note(text: str) -> str:
        """Write a line into the notes."""
        await anyio.sleep(0.4)  # a call takes a while: it can be cut off before and after its effect
        with path.open("a", encoding="utf-8") as notes:
            notes.write(f"{text}\n")
        await anyio.sleep(0.4)
        return "noted"

    return server


if __name__ == "__main__":
    anyio.run(build(Path(sys.argv[1])).run_stdio_async)
