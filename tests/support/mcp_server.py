"""A small MCP server for tests, with well-behaved and faulty tools: `python -m tests.support.mcp_server FOLDER …`."""

import argparse
import os
import sys
from pathlib import Path

import anyio
from mcp import MCPError
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.mcpserver import Context, Image, MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.server.runner import serve_loop
from mcp.server.stdio import stdio_server
from mcp.types import METHOD_NOT_FOUND, ToolAnnotations

READS = ToolAnnotations(read_only_hint=True)
ENDS = ToolAnnotations(read_only_hint=False, destructive_hint=True)
PICTURE = b"\x89PNG\r\n\x1a\n" + bytes(60)


def build(folder: Path, *, old: bool = False) -> MCPServer:
    """A server whose tools write into `folder`. With `old` it lacks the request `server/discover`."""
    server = MCPServer("trial", log_level="ERROR")
    _harmless(server)
    _faulty(server, folder)
    _changing(server, old=old)
    if old:
        server.middleware.append(_refuse_discovery)
    return server


def _harmless(server: MCPServer) -> None:
    @server.tool(annotations=READS)
    def add(a: int, b: int) -> int:
        """Add two whole numbers."""
        return a + b

    @server.tool(annotations=READS, structured_output=False)
    def words(text: str) -> list[str]:
        """The words of a text, one block each."""
        return text.split()

    @server.tool(annotations=READS)
    def big(size: int) -> str:
        """A text of so many letters."""
        return "x" * size

    @server.tool(annotations=READS)
    def picture() -> Image:
        """A picture of one pixel."""
        return Image(data=PICTURE, format="png")

    @server.tool(annotations=READS)
    def environment(name: str) -> str:
        """What this process has under a name in its environment."""
        return os.environ.get(name, "")


def _faulty(server: MCPServer, folder: Path) -> None:
    @server.tool()
    def note(text: str) -> str:
        """Write a line into the notes."""
        _note(folder, text)
        return "noted"

    @server.tool(annotations=ENDS)
    def note_and_die(text: str) -> str:
        """Write a line into the notes, and end before the answer."""
        _note(folder, text)
        os._exit(3)

    @server.tool()
    async def note_and_hang(text: str) -> str:
        """Write a line into the notes, and never answer."""
        _note(folder, text)
        await anyio.sleep_forever()
        return "never"

    @server.tool()
    def fail(reason: str) -> str:
        """Refuse."""
        raise ToolError(reason)

    @server.tool()
    def complain(lines: int) -> str:
        """Write so many lines on stderr, each of them long."""
        for number in range(lines):
            print(f"complaint {number} {'y' * 2000}", file=sys.stderr, flush=True)
        return "done"


def _changing(server: MCPServer, *, old: bool) -> None:
    @server.tool()
    async def learn(name: str, ctx: Context) -> str:
        """Offer one more tool from now on, and say so."""
        server.add_tool(lambda: f"I am {name}", name=name, description=f"Say that I am {name}.")
        await ctx.notify_tools_changed()
        if old:
            await ctx.session.send_tool_list_changed()
        return "learnt"


async def _old_stdio(server: MCPServer) -> None:
    async with stdio_server() as (read, write):
        await serve_loop(server._lowlevel_server, read, write, lifespan_state={})


async def _refuse_discovery(ctx: ServerRequestContext, call_next: CallNext) -> HandlerResult:
    if ctx.method == "server/discover":
        raise MCPError(METHOD_NOT_FOUND, "Method not found")
    return await call_next(ctx)


def _note(folder: Path, text: str) -> None:
    with (folder / "notes").open("a", encoding="utf-8") as notes:
        notes.write(f"{text}\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--http", type=int, default=0, metavar="PORT")
    parser.add_argument("--old", action="store_true")
    options = parser.parse_args()
    with (options.folder / "pids").open("a", encoding="utf-8") as pids:
        pids.write(f"{os.getpid()}\n")
    server = build(options.folder, old=options.old)
    if options.http:
        anyio.run(lambda: server.run_streamable_http_async(port=options.http))
    elif options.old:
        anyio.run(_old_stdio, server)
    else:
        anyio.run(server.run_stdio_async)


if __name__ == "__main__":
    main()
