"""A server as a child process: one message a line over its stdin and stdout, and an end for one that sends too much.

The library's own transport keeps a line whatever its length; otherwise this does the same.
"""

import contextlib
from collections.abc import AsyncIterator, Callable
from typing import TextIO

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.shared.message import SessionMessage
from mcp.types import jsonrpc_message_adapter

from services.executor.mcp.config import ServerConfig
from shared.message_limits import Meter, TooLarge

GRACE = 2.0  # seconds to end by itself once stdin is closed, then after SIGTERM
FLUSH = 0.5  # seconds for messages that are still to be sent
NOISE = 1_000  # lines that are no messages: some programs print a few
_OURS = b'"jsonrpc"'
_GONE = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)

type Incoming = SessionMessage | Exception
type Streams = tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]


class Broken(Exception):
    """The server does not keep to the protocol: the connection has to end. The message says why."""


@contextlib.asynccontextmanager
async def child(
    server: ServerConfig, *, stderr: TextIO, message_bytes: int, broken: Callable[[str], None]
) -> AsyncIterator[Streams]:
    """Streams to and from a child that has been started. `broken` is called with the reason, before they end.

    The child has what it needs of our environment and what its configuration gives it: never our secrets.
    """
    process = await anyio.open_process(
        [server.command, *server.args],
        env=get_default_environment() | server.env,
        cwd=server.cwd,
        stderr=stderr,
        start_new_session=True,
    )
    stdin, stdout = _pipes(process)
    incoming, read = anyio.create_memory_object_stream[Incoming](0)
    write, outgoing = anyio.create_memory_object_stream[SessionMessage](0)
    sent = anyio.Event()

    async def receive() -> None:
        async with incoming:
            try:
                async for line in _lines(stdout, Meter.of_lines(message_bytes)):
                    await incoming.send(line)
            except (TooLarge, Broken) as error:
                broken(f"it sent {error}")
            except (anyio.ClosedResourceError, anyio.BrokenResourceError, ConnectionError):
                pass  # either end is gone, and both sides notice that
        await _drain(stdout)

    async def send() -> None:
        try:
            async with outgoing:
                async for message in outgoing:
                    data = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await stdin.send(f"{data}\n".encode(errors="replace"))
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError, RuntimeError):
            await incoming.aclose()  # it reads no more: no request would ever be answered
        finally:
            sent.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(receive)
        tasks.start_soon(send)
        try:
            yield read, write
        finally:
            with anyio.CancelScope(shield=True):  # every wait in it is bounded
                read.close()
                write.close()
                with anyio.move_on_after(FLUSH):
                    await sent.wait()
                await _end(process)
            tasks.cancel_scope.cancel()


def _pipes(process: Process) -> tuple[ByteSendStream, ByteReceiveStream]:
    if process.stdin is None or process.stdout is None:
        raise OSError("the process has no pipes")
    return process.stdin, process.stdout


async def _lines(stdout: ByteReceiveStream, meter: Meter) -> AsyncIterator[Incoming]:
    """Each line as the message that it is, or as the exception that says why it is none. Raises TooLarge, Broken."""
    parts: list[bytes] = []
    noise = 0
    async for chunk in stdout:
        meter.count(chunk)
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            message = _parsed(b"".join((*parts, line)))
            parts.clear()
            noise += isinstance(message, Exception)
            if noise > NOISE:
                raise Broken(f"more than {NOISE:,} lines that are no messages")
            yield message
        parts.append(rest)


def _parsed(line: bytes) -> Incoming:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line.decode(errors="replace"), by_name=False))
    except ValueError as error:
        if (
            line.lstrip().startswith(b"{") and _OURS in line
        ):  # somebody waits for it, and which call that is cannot be read
            raise Broken(f"a message that cannot be read ({_reason(error)})") from error
        return error


def _reason(error: ValueError) -> str:
    """What is wrong, without the line itself."""
    errors = getattr(error, "errors", None)
    return str(errors(include_url=False, include_input=False)[0]["msg"])[:200] if errors else type(error).__name__


async def _drain(stdout: ByteReceiveStream) -> None:
    """Reads what still comes, so that a server that writes can end."""
    with anyio.CancelScope(shield=True), contextlib.suppress(*_GONE):
        while True:
            await stdout.receive()


async def _end(process: Process) -> None:
    """Its stdin closed; and where that does not end it, the process and all that it started killed."""
    stdin, stdout = _pipes(process)
    with contextlib.suppress(*_GONE):
        await stdin.aclose()
    with anyio.move_on_after(GRACE):
        await process.wait()
    if process.returncode is None:
        await terminate_posix_process_tree(process, GRACE)
        with anyio.move_on_after(GRACE):
            await process.wait()
    with contextlib.suppress(*_GONE):
        await stdout.aclose()  # ends the reader, also where something that survived has the pipe open
    if process.returncode is not None:
        await process.aclose()
