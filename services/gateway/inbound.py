"""Bytes from a client become a typed message, or a Trouble that says what is wrong with them."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from services.gateway.trouble import Trouble
from shared.protocol.client import CLIENT_MESSAGES, AnyClientMessage

MAX_MESSAGE = 256 * 1024  # bytes of one client message
MESSAGE_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
PROBLEMS_TOLD = 3
KNOWN = "docs/protocol.md lists every message and its fields."


def parse(text: str) -> AnyClientMessage:
    """One message of the protocol. Raises Trouble: too_large, unknown_type or bad_message."""
    if len(text) > MAX_MESSAGE or len(text.encode(errors="replace")) > MAX_MESSAGE:
        raise Trouble(
            "too_large", f"A message may have {MAX_MESSAGE // 1024} KiB at most.", "Send it in smaller parts."
        )
    try:
        message = CLIENT_MESSAGES.validate_json(text)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False, include_context=False)
        raise explained(problems, reply_to=_id_of(text)) from error
    refuse_nul(message)
    return message


def refuse_nul(message: AnyClientMessage) -> None:
    """Databases cannot keep the character U+0000, so no event may carry it."""
    if any("\0" in found for found in _strings(message.model_dump())):
        raise Trouble("bad_message", "The message has a NUL character in it.", "Take it out.", reply_to=message.id)


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for name, item in value.items():
                yield name
                yield from _strings(item)
        case list() | tuple():
            for item in value:
                yield from _strings(item)


def explained(problems: Sequence[Mapping[str, Any]], *, reply_to: str | None = None) -> Trouble:
    """pydantic's account of what is wrong, as one Trouble."""
    kinds = {problem["type"] for problem in problems}
    if "union_tag_invalid" in kinds:
        return Trouble("unknown_type", "There is no message of this type.", KNOWN, reply_to=reply_to)
    if "union_tag_not_found" in kinds:
        return Trouble("bad_message", "The message has no `type`.", KNOWN, reply_to=reply_to)
    told = "; ".join(f"{_place(problem['loc'])}: {problem['msg']}" for problem in problems[:PROBLEMS_TOLD])
    code = "too_large" if kinds & {"string_too_long", "too_long"} else "bad_message"
    return Trouble(code, f"The message cannot be read: {told}"[:1000], KNOWN, reply_to=reply_to)


def _place(location: tuple[int | str, ...]) -> str:
    """Where, without the message's own type in front."""
    return ".".join(str(part) for part in location[1:]) or "message"


def _id_of(text: str) -> str | None:
    """The message's own id, if as much can be read."""
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        return None
    found = body.get("id") if isinstance(body, dict) else None
    return found if isinstance(found, str) and MESSAGE_ID.fullmatch(found) else None
