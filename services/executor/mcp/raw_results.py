"""Lets a server's results pass the library's validation, which refuses a whole answer for one odd value in it.

The library gets a plain result of the same kind. Parley reads the server's own one, value by value, at `raw_result`.
"""

from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

from mcp.client._transport import WriteStream
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCNotification, JSONRPCRequest, JSONRPCResponse
from pydantic import JsonValue

from services.executor.mcp.json_text import camel_or_snake
from services.executor.mcp.specs import input_schema
from shared.repair.schema import as_schema, properties, schema_problem

RAW = "parley/raw"  # the key in a result's `_meta`
MAX_LEVELS = 100  # of nested values; readers and writers of JSON refuse about 200
_COMPLETE = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}  # required by the newest protocol

type Received = SessionMessage | Exception


def raw_result(meta: Mapping[str, Any] | None) -> Mapping[str, JsonValue]:
    """The server's own result, of a plain one with this `_meta`."""
    result: Mapping[str, JsonValue] = (meta or {}).get(RAW, {})
    return result


def plain_result(method: str, result: dict[str, Any]) -> dict[str, Any]:
    """A result of this method that the library accepts, with the server's own one in its `_meta`."""
    result = {name: _cut_below(part, MAX_LEVELS) for name, part in result.items()}
    meta = {"_meta": {RAW: result}}
    match method:
        case "initialize":
            offers_tools = not isinstance(able := result.get("capabilities"), dict) or "tools" in able
            version = {"protocolVersion": result["protocolVersion"]} if "protocolVersion" in result else {}
            info = {"name": "", "version": ""}  # of no use here
            return {**version, "serverInfo": info, "capabilities": {"tools": {}} if offers_tools else {}}
        case "tools/list":
            cursor = camel_or_snake(result, "nextCursor")
            page = {} if cursor is None or cursor == "" else {"nextCursor": str(cursor)}
            return {"tools": [*_known_tools(result.get("tools"))], **page, **_COMPLETE, **meta}
        case "tools/call" if result.get("resultType") != "input_required":
            return {"content": [], **_COMPLETE, **meta}
        case _:
            return result


def _known_tools(tools: object) -> list[dict[str, Any]]:
    """The tools as the library has to know them: it copies arguments into headers where their schema says so."""
    listed = [tool for tool in tools if isinstance(tool, dict)] if isinstance(tools, list) else []
    return [
        {"name": tool["name"], "inputSchema": {"type": "object", "properties": properties(as_schema(schema))}}
        for tool in listed
        if isinstance(tool.get("name"), str) and not schema_problem(schema := input_schema(tool))
    ]


def _cut_below(value: JsonValue, levels: int) -> JsonValue:
    """The value, with a note in place of what is nested deeper."""
    if not isinstance(value, dict | list):
        return value
    if levels == 0:
        return {"type": "cut"}
    if isinstance(value, list):
        return [_cut_below(part, levels - 1) for part in value]
    return {name: _cut_below(part, levels - 1) for name, part in value.items()}


class SentMethods:
    """The methods of requests that have no response yet, by id."""

    def __init__(self) -> None:
        self._methods: dict[str, str] = {}

    def sent(self, message: SessionMessage) -> SessionMessage:
        match message.message:
            case JSONRPCRequest(id=identity, method=method):
                self._methods[str(identity)] = method
            case JSONRPCNotification(method="notifications/cancelled", params=dict(params)):
                self._methods.pop(str(params.get("requestId")), None)
        return message

    def received(self, message: Received) -> Received:
        """The message with a result that the library accepts."""
        if isinstance(message, SessionMessage) and isinstance(message.message, JSONRPCResponse):
            method = self._methods.pop(str(message.message.id), "")
            message.message.result = plain_result(method, message.message.result)
        return message


class SendingStream:
    """The stream of messages to a server."""

    def __init__(self, stream: WriteStream[SessionMessage], methods: SentMethods) -> None:
        self._stream, self._methods = stream, methods

    async def send(self, item: SessionMessage, /) -> None:
        await self._stream.send(self._methods.sent(item))

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def __aenter__(self) -> Self:
        await self._stream.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._stream.__aexit__(kind, error, trace)
