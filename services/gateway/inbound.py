"""Bytes from a client become a typed message, or a Trouble that says what is wrong with them."""

import json
from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError

from services.gateway.trouble import Trouble
from shared.protocol.client import CLIENT_MESSAGES, AnyClientMessage

MAX_MESSAGE = 256 * 1024  # bytes of one client message
PROBLEMS_TOLD = 3
KNOWN = "docs/protocol.md lists every message and its fields."


def parse(text: str) -> AnyClientMessage:
    """One message of the protocol. Raises Trouble: too_large, unknown_type or bad_message."""
    if len(text) > MAX_MESSAGE or len(text.encode(errors="replace")) > MAX_MESSAGE:
        raise Trouble(
            "too_large", f"A message may have {MAX_MESSAGE // 1024} KiB at most.", "Send it in smaller parts."
        )
    try:
        return _without_nul(CLIENT_MESSAGES.validate_json(text), text)
    except ValidationError as error:
        raise _explained(error, text) from error


def _without_nul(message: AnyClientMessage, text: str) -> AnyClientMessage:
    """Databases cannot keep the character U+0000, so no event may carry it."""
    if "\\u0000" in text and any("\0" in found for found in _strings(json.loads(text))):
        raise Trouble("bad_message", "The message has a NUL character in it.", "Take it out.", reply_to=message.id)
    return message


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for name, item in value.items():
                yield name
                yield from _strings(item)
        case list():
            for item in value:
                yield from _strings(item)


def _explained(error: ValidationError, text: str) -> Trouble:
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    kinds = {problem["type"] for problem in problems}
    reply_to = _id_of(text)
    if "union_tag_invalid" in kinds:
        return Trouble("unknown_type", "There is no message of this type.", KNOWN, reply_to=reply_to)
    if "union_tag_not_found" in kinds:
        return Trouble("bad_message", "The message has no `type`.", KNOWN, reply_to=reply_to)
    told = "; ".join(f"{_place(problem['loc'])}: {problem['msg']}" for problem in problems[:PROBLEMS_TOLD])
    code = "too_large" if kinds & {"string_too_long", "too_long"} else "bad_message"
    return Trouble(code, f"The message cannot be read: {told}"[:1000], KNOWN, reply_to=reply_to)


def _place(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location[1:]) or "message"


def _id_of(text: str) -> str | None:
    """The message's own id, if as much can be read."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return None
    found = body.get("id") if isinstance(body, dict) else None
    return found if isinstance(found, str) and len(found) <= 64 else None
