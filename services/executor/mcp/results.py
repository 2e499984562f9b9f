"""Outcomes of MCP calls: the server's value, or an error and whether the call may have taken effect. Pure."""

import base64
import binascii
import codecs
import json
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from mcp import MCPError
from mcp.types import HEADER_MISMATCH, INVALID_PARAMS, INVALID_REQUEST, METHOD_NOT_FOUND
from pydantic import JsonValue
from pydantic_core import from_json, to_json

from services.executor.mcp.json_text import REPLACEMENT, camel_or_snake
from shared.logging import excerpt_of

MAX_RESULT = 8 * 1024 * 1024  # bytes of JSON
MAX_ERROR = 2_000  # characters
_REPEATED_LEVELS = 3  # of structured content in which its text is looked for
_ENVELOPE = ("content", "structuredContent", "structured_content", "isError", "is_error", "_meta", "resultType")
_BESIDE_TEXT = {"type", "text", "annotations", "_meta"}  # the fields of a text, which is missing if it is empty
_TEXTUAL = re.compile(
    r"\s*(text/|\S+\+(json|xml|yaml)\b|application/(x-)?(json|ndjson|xml|yaml|toml|sql|sh|javascript|typescript)\b)",
    re.I,
)
_STANDARD = str.maketrans("-_", "+/")
_CHARSET = re.compile(r"charset=[\"']?([\w.:-]+)", re.I)
_REFUSED = (METHOD_NOT_FOUND, INVALID_PARAMS, HEADER_MISMATCH)  # sent before the call starts
_LOST_SESSION = re.compile(
    r"session( id)? (was |is )?(not found|terminated|expired|unknown|invalid)|no valid session|not initialized", re.I
)


class McpOutcome(NamedTuple):
    """The outcome of a call. `unknown`: it was sent, and it is not known whether it took effect."""

    ok: bool
    value: JsonValue = None
    error: str = ""
    unknown: bool = False


def outcome_of(result: Mapping[str, JsonValue]) -> McpOutcome:
    """The server's answer. An error that the tool reports is a definite answer, so nothing is unknown."""
    value = _truncated(_value(result))
    if not _has_failed(result):
        return McpOutcome(True, value)
    words = "\n".join(_texts(value)) or "The tool failed without saying why."
    return McpOutcome(False, value, quoted(words))


def _has_failed(result: Mapping[str, JsonValue]) -> bool:
    """Whether the result is an error: by its flag, or by a block of that type, with which some servers replace it."""
    flag, content = camel_or_snake(result, "isError"), result.get("content")
    blocks = content if isinstance(content, list) else [content]
    is_marked = any(isinstance(block, dict) and block.get("type") == "error" for block in blocks)
    return is_marked or flag == 1 or str(flag).lower() in ("true", "1")


def refused_outcome(server: str, error: MCPError) -> McpOutcome:
    """The outcome of a protocol error. Only some of them guarantee that the call did not start."""
    session_is_lost = _LOST_SESSION.search(error.message) is not None or (
        error.code == INVALID_REQUEST and "session" in error.message.lower()
    )
    words = quoted(error.message) or "no reason given"
    if error.code in _REFUSED or session_is_lost:
        return McpOutcome(False, error=f"The MCP server “{server}” did not take the call: {words}")
    return lost_outcome(server, words)


def lost_outcome(server: str, reason: str) -> McpOutcome:
    """The outcome of a call that was sent and got no valid answer."""
    words = quoted(reason)
    message = f"The MCP server “{server}” gave no answer ({words}); whether the call took effect is not known."
    return McpOutcome(False, error=message, unknown=True)


def quoted(text: str, length: int = MAX_ERROR) -> str:
    """At most `length` characters of a server's text, without secrets and without characters that do not print."""
    start = excerpt_of(text, 100 * length)  # a message may have 32 MB: look at few characters
    # again, because a character that does not print may have stood within a secret
    return excerpt_of("".join(c for c in start if c.isprintable() or c in "\n\t"), length)


def _value(result: Mapping[str, JsonValue]) -> JsonValue:
    """The structured content, with whatever other content says beyond it; the text; or a list of texts and objects."""
    pieces = [*_pieces(result.get("content"))]
    structured = camel_or_snake(result, "structuredContent")
    if structured is not None:
        texts = set(_parts_as_text(structured))
        more = [piece for piece in pieces if not (isinstance(piece, str) and {piece, _normal(piece)} & texts)]
        return _extended(structured, _joined(more)) if more else structured
    if not pieces and (others := {name: part for name, part in result.items() if name not in _ENVELOPE}):
        return others
    joined = _joined(pieces)
    return "\n".join(_texts(joined)) if all(isinstance(piece, str) for piece in joined) else joined


def _extended(structured: JsonValue, more: list[JsonValue]) -> JsonValue:
    """The structured content with the rest, which does not move the fields that its schema declares."""
    if isinstance(structured, dict):
        return {**structured, "content" if "content" not in structured else "other_content": more}
    return [structured, *more]


def _parts_as_text(structured: JsonValue) -> Iterator[str]:
    """What clients that do not read structured content get as text: all of it, or its parts."""
    level = [structured]
    for _ in range(_REPEATED_LEVELS):
        yield from (part if isinstance(part, str) else json.dumps(part, sort_keys=True) for part in level)
        inside = [value for value in level if isinstance(value, dict | list)]
        level = [part for value in inside for part in (value.values() if isinstance(value, dict) else value)]


def _normal(text: str) -> str:
    """The text, with the spaces and the order of JSON as everywhere."""
    try:
        read = from_json(text)
    except ValueError:
        return text
    return read if isinstance(read, str) else json.dumps(read, sort_keys=True)


def _pieces(content: JsonValue) -> Iterator[JsonValue]:
    """The texts, and what is known about everything else."""
    for block in content if isinstance(content, list) else [] if content is None else [content]:
        if not isinstance(block, dict):
            yield block if isinstance(block, str) else to_json(block).decode()
        elif block.get("type", "text") in ("text", "error") and ("text" in block or block.keys() <= _BESIDE_TEXT):
            yield _text(block.get("text"))
        else:
            yield _summary(block)


def _joined(pieces: list[JsonValue]) -> list[JsonValue]:
    """The pieces, with texts in a row as one."""
    joined: list[JsonValue] = []
    for piece in pieces:
        if isinstance(piece, str) and joined and isinstance(before := joined[-1], str):
            joined[-1] = f"{before}\n{piece}"
        else:
            joined.append(piece)
    return joined


def _texts(value: JsonValue) -> Iterator[str]:
    """The words in a value: its texts, or the value as JSON where it has none."""
    match value:
        case str():
            yield value
        case list():
            for part in value:
                yield from _texts(part)
        case {"text": str(text)}:
            yield text
        case dict():
            yield to_json(value).decode()


def _summary(block: dict[str, JsonValue]) -> JsonValue:
    """What is known about a resource or a link; of a picture, a sound or a file, only its type and size.

    A block of a type that is none of these is passed on as it is.
    """
    resource = block.get("resource")
    inner = resource if isinstance(resource, dict) else block
    named = {"type": block.get("type"), "uri": inner.get("uri"), "mimeType": camel_or_snake(inner, "mimeType")}
    described = {name: inner.get(name) for name in ("name", "title", "description") if inner.get(name)}
    data = inner.get("blob", inner.get("data"))
    if "text" in inner and (inner["text"] or not isinstance(data, str)):
        body: dict[str, JsonValue] = {"text": _text(inner["text"])}
    elif isinstance(data, str) and ("blob" in inner or named["mimeType"] or block.get("type") in ("image", "audio")):
        decoded = _decoded(data, kind) if _TEXTUAL.match(kind := str(named["mimeType"])) else None
        size = len(data.rstrip("=")) * 3 // 4
        body = {"bytes": size} if decoded is None else {"text": decoded}
    elif named["uri"] is not None:
        body = {"bytes": inner.get("size")}
    else:
        return block
    if named["uri"] is None:
        del named["uri"]
    return {**named, **described, **body}


def _decoded(data: str, kind: str) -> str | None:
    """The text in Base64, of either alphabet and with or without padding; None if it cannot be decoded."""
    data = "".join(data.translate(_STANDARD).split()).rstrip("=")
    try:
        raw = base64.b64decode(data + "=" * (-len(data) % 4))
        declared = next(iter(_CHARSET.findall(kind)), "utf-8")
        charset = "utf-16" if raw[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else declared
        return _text(raw.decode(charset, errors="replace"))
    except (binascii.Error, ValueError, LookupError):
        return None


def _text(value: JsonValue) -> str:
    text = value if isinstance(value, str) else "" if value is None else to_json(value).decode()
    return text.replace("\0", REPLACEMENT)


def _truncated(value: JsonValue) -> JsonValue:
    """The value as it can be stored: with numbers that are not finite as texts, and cut if it is too large."""
    body = to_json(value, inf_nan_mode="strings")
    if len(body) <= MAX_RESULT:
        stored: JsonValue = from_json(body)
        return stored
    return {"type": "cut", "bytes": len(body), "beginning": excerpt_of(body.decode(errors="ignore"), MAX_ERROR)}
