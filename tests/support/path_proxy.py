"""A reverse proxy that serves a program below a path, and removes the path from requests; it passes WebSockets on."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

NOT_FOUND = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


@asynccontextmanager
async def path_proxy(address: str, path: str) -> AsyncIterator[str]:
    """Serve the program at `host:port` below this path. Returns the URL, without a slash at its end."""
    host, port = address.split(":")

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError, asyncio.IncompleteReadError):
            request_line, _, fields = (await reader.readuntil(b"\r\n\r\n")).partition(b"\r\n")
            method, target, version = request_line.split(b" ")
            if target.startswith(path.encode() + b"/"):
                upstream_reader, upstream_writer = await asyncio.open_connection(host, int(port))
                head = b" ".join((method, target.removeprefix(path.encode()), version))
                close = b"" if b"upgrade: websocket" in fields.lower() else b"Connection: close\r\n"
                upstream_writer.write(head + b"\r\n" + close + fields.replace(b"Connection: keep-alive\r\n", b""))
                await asyncio.gather(_pass_on(reader, upstream_writer), _pass_on(upstream_reader, writer))
            else:
                writer.write(NOT_FOUND)
        writer.close()

    async with await asyncio.start_server(handle, "127.0.0.1", 0, limit=2**20) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}{path}"


async def _pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while data := await reader.read(2**16):
            writer.write(data)
            await writer.drain()
    writer.close()
