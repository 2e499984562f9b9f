"""An MCP server with one write tool that knows no idempotency keys: `python -m chaos.notes_server FILE`."""

import sys
from pathlib import Path

import anyio
from mcp.server.mcpserver import MCPServer


def build(path: Path) -> MCPServer:
    """`path`: the file with one line for each effect of the tool."""
    server = MCPServer("trial", log_level="ERROR")

    @server.tool()
    async def note(text: str) -> str:
        """Write a line into the notes."""
        await anyio.sleep(0.4)  # leaves time for a crash before and after the effect
        with path.open("a", encoding="utf-8") as notes:
            notes.write(f"{text}\n")
        await anyio.sleep(0.4)
        return "noted"

    return server


if __name__ == "__main__":
    anyio.run(build(Path(sys.argv[1])).run_stdio_async)
