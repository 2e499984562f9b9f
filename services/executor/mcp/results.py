"""What became of a call: the value a server answered with, or an error, and whether anybody can tell. Pure."""

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

LARGEST = 8 * 1024 * 1024  # bytes of JSON that are kept of a result
ERROR_KEPT = 2_000  # characters
_REFUSED = (METHOD_NOT_FOUND, INVALID_PARAMS, HEADER_MISMATCH)  # said before anything is begun


class Outcome(NamedTuple):
    """`unknown`: the call was sent, and nobody can tell whether it took effect."""

    ok: bool
    value: JsonValue = None
    error: str = ""
    unknown: bool = False


def outcome_of(result: CallToolResult) -> Outcome:
    """What the server answered. An error that the tool tells of is an answer: its words, and nothing is unknown."""
    value = _bounded(_value(result))
    if not result.is_error:
        return Outcome(True, value)
    words = _text(result.content) or "The tool failed without saying why."
    return Outcome(False, value, clean(words)[:ERROR_KEPT])


def refusal(server: str, error: MCPError) -> Outcome:
    """What an error of the protocol means. Only some of them say for certain that nothing was begun."""
    lost = error.code == INVALID_REQUEST and "session" in error.message.lower()  # it does not know us any more
    known = error.code in _REFUSED or lost
    words = clean(error.message)[:ERROR_KEPT] or "no reason given"
    told = f"The MCP server “{server}” did not take the call: {words}" if known else _gone(server, words)
    return Outcome(False, error=told, unknown=not known)


def lost(server: str, reason: str) -> Outcome:
    """The call was sent, and no answer came that can be understood."""
    return Outcome(False, error=_gone(server, clean(reason)[:ERROR_KEPT]), unknown=True)


def clean(text: str) -> str:
    """Without characters that nobody sees: they only serve to hide words from a reader."""
    return "".join(c for c in text if c.isprintable() or c in "\n\t")


def _gone(server: str, reason: str) -> str:
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
    """What kind of thing it is and how large: pictures, sounds and files are not for a journal."""
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
    """Bytes behind this much Base64."""
    return len(base64.rstrip("=")) * 3 // 4


def _bounded(value: JsonValue) -> JsonValue:
    """As it can be stored: JSON knows no infinity, and cut where it is too large."""
    body = to_json(value, inf_nan_mode="null")
    if len(body) <= LARGEST:
        stored: JsonValue = from_json(body)
        return stored
    return {"type": "cut", "bytes": len(body), "beginning": body[:ERROR_KEPT].decode(errors="ignore")}
