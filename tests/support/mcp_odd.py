"""An MCP server that answers oddly, by a script: `python tests/support/mcp_odd.py FILE`.

The file has a JSON object: `pages` of listed tools, `result` of a call, `before` a call's answer on stdout, and `line`,
the form of that answer, in which %s stands for the message. `bytes`: each letter is a byte. `float_ids`: ids are 1.0.
`error`: that of a call. `initialize_first`: it ends if the first message is another. Over HTTP, `status` and `body`
answer a call. Imports little.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

type Script = dict[str, Any]
HANDSHAKE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"tools": {}},
    "serverInfo": {"name": "x", "version": "1"},
}


def result_of(script: Script, message: dict[str, Any]) -> dict[str, Any] | None:
    match message["method"]:
        case "initialize":
            result: dict[str, Any] = script.get("handshake", HANDSHAKE)
        case "tools/list":
            cursor = (message.get("params") or {}).get("cursor") or "0"
            if not cursor.isdecimal():
                return None
            result = script["pages"][min(int(cursor), len(script["pages"]) - 1)]
        case "tools/call" if "error" not in script:
            result = script.get("result", {})
        case _:
            return None
    return result


def reply(script: Script, message: dict[str, Any]) -> str:
    result = result_of(script, message)
    error = {"error": script.get("error", {"code": -32601, "message": "Method not found"})}
    identity = float(message["id"]) if script.get("float_ids") else message["id"]
    return json.dumps({"jsonrpc": "2.0", "id": identity, **(error if result is None else {"result": result})})


def surrounded(script: Script, message: dict[str, Any], line: str = "%s") -> str:
    """The answer of a call with what the script puts before and around it."""
    return str(script.get("before", "") + reply(script, message).join(script.get("line", line).split("%s")))


def main(script: Script) -> None:
    is_first = script.get("initialize_first", False)
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if is_first and message.get("method") != "initialize":
            sys.exit("expected initialize")
        is_first = False
        if "method" not in message:
            continue
        if "id" in message:
            is_call = message["method"] == "tools/call"
            answer = surrounded(script, message, "%s\n") if is_call else f"{reply(script, message)}\n"
            sys.stdout.buffer.write(
                answer.encode("latin-1") if script.get("bytes") else answer.encode(errors="surrogatepass")
            )
            sys.stdout.buffer.flush()


@asynccontextmanager
async def over_http(script: Script) -> AsyncIterator[str]:
    """The same server over streamable HTTP, as its URL. `events`: its answers are events."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            size = int(head.partition("content-length:")[2].split("\r\n")[0] or 0)
            message = json.loads(await reader.readexactly(size)) if size else {}
            if "id" in message and "method" in message:
                is_call = message["method"] == "tools/call"
                body = surrounded(script, message) if is_call else reply(script, message)
                body = script.get("body", body) if is_call else body
                status = script.get("status", "200 OK") if is_call else "200 OK"
                encoded = body.encode("latin-1") if script.get("bytes") else body.encode(errors="surrogatepass")
                kind = "application/json"
                if script.get("events"):
                    encoded, kind = b"event: message\ndata: " + encoded + b"\n\n", "text/event-stream"
                start = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(encoded)}\r\n\r\n"
                writer.write(start.encode() + encoded)
            else:
                writer.write(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n")
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/mcp"


if __name__ == "__main__":
    main(json.loads(Path(sys.argv[1]).read_text()))
