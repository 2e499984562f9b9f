"""Outcomes of MCP calls: the server's value, or an error and whether the call may have taken effect. Pure."""

from collections.abc import Sequence
from typing import NamedTuple

from mcp import MCPError
from mcp.types import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    INVALID_REQUEST,
    METHOD_NOT_FOUND,
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
)
from pydantic import JsonValue
from pydantic_core import from_json, to_json

MAX_RESULT = 8 * 1024 * 1024  # bytes of JSON
MAX_ERROR = 2_000  # characters
_REFUSED = (METHOD_NOT_FOUND, INVALID_PARAMS, HEADER_MISMATCH)  # sent before the call starts


class McpOutcome(NamedTuple):
    """The outcome of a call. `unknown`: it was sent, and it is not known whether it took effect."""

    ok: bool
    value: JsonValue = None
    error: str = ""
    unknown: bool = False


def outcome_of(result: CallToolResult) -> McpOutcome:
    """The server's answer. An error that the tool reports is a definite answer, so nothing is unknown."""
    value = _truncated(_value(result))
    if not result.is_error:
        return McpOutcome(True, value)
    words = _text(result.content) or "The tool failed without saying why."
    return McpOutcome(False, value, clean(words)[:MAX_ERROR])


def refused_outcome(server: str, error: MCPError) -> McpOutcome:
    """The outcome of a protocol error. Only some of them guarantee that the call did not start."""
    session_is_lost = (
        error.code == INVALID_REQUEST and "session" in error.message.lower()
    )  # the server has lost the session
    has_not_begun = error.code in _REFUSED or session_is_lost
    words = clean(error.message)[:MAX_ERROR] or "no reason given"
    message = (
        f"The MCP server “{server}” did not take the call: {words}" if has_not_begun else _no_answer(server, words)
    )
    return McpOutcome(False, error=message, unknown=not has_not_begun)


def lost_outcome(server: str, reason: str) -> McpOutcome:
    """The outcome of a call that was sent and got no valid answer."""
    return McpOutcome(False, error=_no_answer(server, clean(reason)[:MAX_ERROR]), unknown=True)


def clean(text: str) -> str:
    """The text without invisible characters, which could hide words from a reader."""
    return "".join(c for c in text if c.isprintable() or c in "\n\t")


def _no_answer(server: str, reason: str) -> str:
    return f"The MCP server “{server}” gave no answer ({reason}); whether the call took effect is not known."


def _value(result: CallToolResult) -> JsonValue:
    if result.structured_content is not None:
        structured: JsonValue = result.structured_content
        return structured
    text = _text(result.content)
    others = [_summary(block) for block in result.content if not isinstance(block, TextContent)]
    return [*([text] if text else []), *others] if others else text


def _text(blocks: Sequence[ContentBlock]) -> str:
    return "\n".join(block.text for block in blocks if isinstance(block, TextContent)).replace("\0", "�")


def _summary(block: ContentBlock) -> JsonValue:
    """The type and size of a picture, sound or file, which the journal does not store."""
    match block:
        case ImageContent() | AudioContent():
            return {"type": block.type, "mimeType": block.mime_type, "bytes": _decoded(block.data)}
        case EmbeddedResource(resource=inner):
            size = _decoded(inner.blob) if isinstance(inner, BlobResourceContents) else len(inner.text.encode())
            return {"type": "resource", "uri": str(inner.uri), "mimeType": inner.mime_type, "bytes": size}
        case ResourceLink():
            return {"type": block.type, "uri": str(block.uri), "mimeType": block.mime_type, "bytes": block.size}
        case _:
            return {"type": block.type, "mimeType": None, "bytes": None}


def _decoded(base64: str) -> int:
    """The decoded size of Base64 text, in bytes."""
    return len(base64.rstrip("=")) * 3 // 4


def _truncated(value: JsonValue) -> JsonValue:
    """The value as it can be stored: without infinities, and cut if it is too large."""
    body = to_json(value, inf_nan_mode="null")
    if len(body) <= MAX_RESULT:
        stored: JsonValue = from_json(body)
        return stored
    return {"type": "cut", "bytes": len(body), "beginning": body[:MAX_ERROR].decode(errors="ignore")}
