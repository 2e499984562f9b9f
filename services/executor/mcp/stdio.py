"""An MCP server as a child process: one message per line over stdin and stdout.

Unlike the library's own transport, it limits the length of a line, and disconnects a server that exceeds it.
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

from services.executor.mcp.config import McpServerConfig
from shared.message_limits import MessageMeter, MessageTooLong

GRACE_PERIOD = 2.0  # seconds to exit once stdin is closed, and again after SIGTERM
FLUSH_TIMEOUT = 0.5  # seconds for messages still to be sent
MAX_NOISE = 1_000  # lines that are not messages: some programs print a few
_OURS = b'"jsonrpc"'
_GONE = (anyio.EndOfStream, anyio.ClosedResourceError, anyio.BrokenResourceError, OSError)

type Incoming = SessionMessage | Exception
type Streams = tuple[MemoryObjectReceiveStream[Incoming], MemoryObjectSendStream[SessionMessage]]


class ProtocolViolation(Exception):
    """The server violates the protocol, so the connection has to end. The message says why."""


@contextlib.asynccontextmanager
async def open_child(
    server: McpServerConfig, *, stderr: TextIO, message_bytes: int, broken: Callable[[str], None]
) -> AsyncIterator[Streams]:
    """Starts the child and opens streams from and to it. Calls `broken` with the reason before they end early.

    The child gets a minimal environment and its configured variables, never Parley's secrets.
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
                async for line in _lines(stdout, MessageMeter.of_lines(message_bytes)):
                    await incoming.send(line)
            except (MessageTooLong, ProtocolViolation) as error:
                broken(f"it sent {error}")
            except (anyio.ClosedResourceError, anyio.BrokenResourceError, ConnectionError):
                pass  # one end is gone, which both sides notice
        await _drain(stdout)

    async def send() -> None:
        try:
            async with outgoing:
                async for message in outgoing:
                    data = message.message.model_dump_json(by_alias=True, exclude_unset=True)
                    await stdin.send(f"{data}\n".encode(errors="replace"))
        except (anyio.ClosedResourceError, anyio.BrokenResourceError, OSError, RuntimeError):
            await incoming.aclose()  # the child stopped reading: no request would be answered
        finally:
            sent.set()

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(receive)
        tasks.start_soon(send)
        try:
            yield read, write
        finally:
            with anyio.CancelScope(shield=True):  # each wait inside is bounded
                read.close()
                write.close()
                with anyio.move_on_after(FLUSH_TIMEOUT):
                    await sent.wait()
                await _end(process)
            tasks.cancel_scope.cancel()


def _pipes(process: Process) -> tuple[ByteSendStream, ByteReceiveStream]:
    if process.stdin is None or process.stdout is None:
        raise OSError("the process has no pipes")
    return process.stdin, process.stdout


async def _lines(stdout: ByteReceiveStream, meter: MessageMeter) -> AsyncIterator[Incoming]:
    """Each line as a message, or as the exception of an invalid one. Raises TooLarge and ProtocolViolation."""
    parts: list[bytes] = []
    noise = 0
    async for chunk in stdout:
        meter.count(chunk)
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            message = _parse(b"".join((*parts, line)))
            parts.clear()
            noise += isinstance(message, Exception)
            if noise > MAX_NOISE:
                raise ProtocolViolation(f"more than {MAX_NOISE:,} lines that are no messages")
            yield message
        parts.append(rest)


def _parse(line: bytes) -> Incoming:
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_json(line.decode(errors="replace"), by_name=False))
    except ValueError as error:
        if (
            line.lstrip().startswith(b"{") and _OURS in line
        ):  # a caller waits for this reply, and which one cannot be told
            raise ProtocolViolation(f"a message that cannot be read ({_reason(error)})") from error
        return error


def _reason(error: ValueError) -> str:
    """The reason of a parse error, without the line itself."""
    errors = getattr(error, "errors", None)
    return str(errors(include_url=False, include_input=False)[0]["msg"])[:200] if errors else type(error).__name__


async def _drain(stdout: ByteReceiveStream) -> None:
    """Read the remaining output, so that a server blocked on writing can exit."""
    with anyio.CancelScope(shield=True), contextlib.suppress(*_GONE):
        while True:
            await stdout.receive()


async def _end(process: Process) -> None:
    """Close the process's stdin; if it does not exit, kill it and its children."""
    stdin, stdout = _pipes(process)
    with contextlib.suppress(*_GONE):
        await stdin.aclose()
    with anyio.move_on_after(GRACE_PERIOD):
        await process.wait()
    if process.returncode is None:
        await terminate_posix_process_tree(process, GRACE_PERIOD)
        with anyio.move_on_after(GRACE_PERIOD):
            await process.wait()
    with contextlib.suppress(*_GONE):
        await stdout.aclose()  # ends the reader even if a surviving process holds the pipe
    if process.returncode is not None:
        await process.aclose()
