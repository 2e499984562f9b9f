"""Bytes from a client become a typed message, or a Trouble that says what is wrong with them."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from pydantic import ValidationError
from pydantic_core import from_json

from parley.events.problems import sentences, unknown_type
from parley.protocol.client import CLIENT_MESSAGES, AnyClientMessage
from services.gateway.trouble import Trouble

MAX_MESSAGE = 256 * 1024  # bytes of one client message
MAX_DEPTH = 64  # arrays and objects within each other; readers of the log take 200, and wrap what they read
MESSAGE_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
TYPES = tuple(get_args(kind.model_fields["type"].annotation)[0] for kind in get_args(get_args(AnyClientMessage)[0]))
KNOWN = "docs/protocol.md lists every message and its fields."


def parse(text: str) -> AnyClientMessage:
    """One message of `/ws`. Raises Trouble: too_large, unknown_type or bad_message."""
    if len(text) > MAX_MESSAGE or len(text.encode(errors="replace")) > MAX_MESSAGE:
        raise Trouble(
            "too_large", f"A message may have {MAX_MESSAGE // 1024} KiB at most.", "Send it in smaller parts."
        )
    value = read_json(text)
    try:
        return CLIENT_MESSAGES.validate_python(value)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        raise explained(problems, reply_to=_id_of(value)) from error


def read_json(text: str | bytes) -> Any:
    """A client's JSON, by RFC 8259, of what can be stored and read again. Raises Trouble(bad_message)."""
    try:
        value = from_json(text.encode() if isinstance(text, str) else text, allow_inf_nan=False)
    except ValueError as error:
        raise Trouble("bad_message", f"The message is not JSON as RFC 8259 has it: {error}.", KNOWN) from error
    if problem := _unstorable(value):
        raise Trouble("bad_message", problem, "Send it without that.", reply_to=_id_of(value))
    return value


def _unstorable(value: Any) -> str:
    """What is wrong with a value that JSON allows, or ""."""
    level = [value]
    for depth in range(MAX_DEPTH + 1):
        deeper: list[Any] = []
        for item in level:
            match item:
                case str() if "\0" in item:
                    return "The message has a NUL character in it, which databases do not keep."
                case float() if not math.isfinite(item):
                    return "The message has a number in it that is too large."
                case dict() | list() if depth == MAX_DEPTH:
                    return f"The message has more than {MAX_DEPTH} levels of arrays and objects."
                case dict():
                    deeper += item
                    deeper += item.values()
                case list():
                    deeper += item
        level = deeper
    return ""


def explained(problems: Sequence[Mapping[str, Any]], *, reply_to: str | None = None) -> Trouble:
    """pydantic's account of what is wrong, as one Trouble."""
    by_kind = {problem["type"]: problem for problem in problems}
    if unknown := by_kind.get("union_tag_invalid"):
        return Trouble("unknown_type", unknown_type(unknown["ctx"]["tag"], TYPES), KNOWN, reply_to=reply_to)
    if "union_tag_not_found" in by_kind:
        told = f"The message has no `type`. The types are: {', '.join(TYPES)}."
        return Trouble("bad_message", told, KNOWN, reply_to=reply_to)
    code = "too_large" if by_kind.keys() & {"string_too_long", "too_long"} else "bad_message"
    told = sentences(problems, whole="message", skip=1)
    return Trouble(code, f"The message cannot be read. {told}"[:1000], KNOWN, reply_to=reply_to)


def _id_of(value: Any) -> str | None:
    """The message's own id, if it has a valid one."""
    found = value.get("id") if isinstance(value, dict) else None
    return found if isinstance(found, str) and MESSAGE_ID.fullmatch(found) else None
