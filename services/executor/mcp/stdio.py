"""An MCP server as a child process: one message per line over stdin and stdout.

Unlike the library's own transport, it limits the length of a line, and disconnects a server that exceeds it.
"""

import contextlib
import json
from collections.abc import AsyncIterator, Callable
from typing import TextIO, cast

import anyio
from anyio.abc import ByteReceiveStream, ByteSendStream, Process
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.client.stdio import get_default_environment
from mcp.os.posix.utilities import terminate_posix_process_tree
from mcp.shared.message import SessionMessage
from mcp.types import INTERNAL_ERROR, ErrorData, JSONRPCError, jsonrpc_message_adapter
from pydantic import JsonValue, ValidationError

from services.executor.mcp.config import McpServerConfig
from services.executor.mcp.json_text import json_objects, mended
from services.executor.mcp.results import quoted
from shared.message_limits import MessageMeter, MessageTooLong

GRACE_PERIOD = 2.0  # seconds to exit once stdin is closed, and again after SIGTERM
FLUSH_TIMEOUT = 0.5  # seconds for messages still to be sent
MAX_NOISE = 10_000  # lines in a row that are no messages: some programs print what they do
MAX_QUOTE = 300  # characters of the server's own words
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
    """The messages in each line; or, of a line without one, the reason. Raises MessageTooLong and ProtocolViolation."""
    parts: list[bytes] = []
    noise = 0
    async for chunk in stdout:
        meter.count(chunk)
        *lines, rest = chunk.split(b"\n")
        for line in lines:
            text = b"".join((*parts, line))
            parts.clear()
            messages = _messages(text)
            noise = 0 if messages else noise + bool(text.strip())
            if noise > MAX_NOISE:
                raise ProtocolViolation(f"more than {MAX_NOISE:,} lines that are no messages")
            if noise == 1:
                yield ValueError(quoted(mended(text).decode(), MAX_QUOTE))
            for message in messages:
                yield message
        parts.append(rest)


def _messages(line: bytes) -> list[SessionMessage]:
    """The messages in the line, which some programs print between other output. Raises ProtocolViolation."""
    if not line.strip():
        return []
    text = mended(line)
    try:
        return [SessionMessage(jsonrpc_message_adapter.validate_json(text, by_name=False))]
    except ValidationError as error:
        messages = [message for each in json_objects(text.decode()) if (message := as_message(each))]
        is_broken = error.errors(include_input=False)[0]["type"] == "json_invalid"
        if not messages and text.startswith(b"{") and _OURS in text and is_broken:
            # A caller waits for this reply, and which one cannot be told.
            raise ProtocolViolation(f"a message that cannot be read ({_reason(error)})") from error
        return messages


def as_message(value: dict[str, JsonValue]) -> SessionMessage | None:
    """The object as a message; a reply of another form as an error for its caller; None if it is something else."""
    try:
        return SessionMessage(jsonrpc_message_adapter.validate_python(value, by_name=False))
    except ValidationError as error:
        identity, refusal = value.get("id"), value.get("error")
        if "jsonrpc" not in value or "method" in value or type(identity) not in (int, str):
            return None
        code, words = INTERNAL_ERROR, refusal or f"its reply has another form ({_reason(error)})"
        if isinstance(refusal, dict):
            code = number if type(number := refusal.get("code")) is int else INTERNAL_ERROR
            words = refusal.get("message") or refusal
        text = words if isinstance(words, str) else json.dumps(words, ensure_ascii=False)
        data = ErrorData(code=code, message=quoted(text, MAX_QUOTE))
        return SessionMessage(JSONRPCError(jsonrpc="2.0", id=cast("int | str", identity), error=data))


def _reason(error: ValidationError) -> str:
    """The reason of a parse error, without the line itself."""
    return error.errors(include_url=False, include_input=False)[0]["msg"][:200]


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
