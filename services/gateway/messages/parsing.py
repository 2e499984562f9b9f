"""Parses client messages. Raises ApiError, which says what is wrong with them."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, get_args

from pydantic import ValidationError
from pydantic_core import from_json

from parley.events.problems import problem_sentences, unknown_type_message
from parley.protocol.bounds import MAX_MESSAGE_BYTES
from parley.protocol.client import CLIENT_MESSAGES, AnyClientMessage
from services.gateway.api_errors import ApiError

MAX_DEPTH = 64  # of nested arrays and objects; log readers accept 200, for events that wrap messages
MESSAGE_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
MESSAGE_TYPES = tuple(
    get_args(kind.model_fields["type"].annotation)[0] for kind in get_args(get_args(AnyClientMessage)[0])
)
MESSAGE_HINT = "docs/protocol.md lists every message and its fields."


def parse_message(text: str) -> AnyClientMessage:
    """One message of `/ws`. Raises ApiError: too_large, unknown_type or bad_message."""
    if len(text) > MAX_MESSAGE_BYTES or len(text.encode(errors="replace")) > MAX_MESSAGE_BYTES:
        words = f"A message may have {MAX_MESSAGE_BYTES // 1024} KiB at most."
        raise ApiError("too_large", words, "Send it in smaller parts.", reply_to=_id_in(text))
    value = read_json(text)
    try:
        return CLIENT_MESSAGES.validate_python(value)
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False)
        raise validation_error(problems, reply_to=_message_id(value)) from error


def read_json(text: str | bytes) -> Any:
    """A client's JSON, parsed strictly (RFC 8259), without values that cannot be stored. Raises ApiError."""
    try:
        value = from_json(text.encode() if isinstance(text, str) else text, allow_inf_nan=False)
    except ValueError as error:
        raise ApiError("bad_message", f"The message is not JSON as RFC 8259 has it: {error}.", MESSAGE_HINT) from error
    if problem := _storage_problem(value):
        raise ApiError("bad_message", problem, "Send it without that.", reply_to=_message_id(value))
    return value


def _storage_problem(value: Any) -> str:
    """Why a JSON value cannot be stored; "" if it can."""
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


def validation_error(problems: Sequence[Mapping[str, Any]], *, reply_to: str | None = None) -> ApiError:
    """One ApiError for all of pydantic's validation errors."""
    by_kind = {problem["type"]: problem for problem in problems}
    if unknown := by_kind.get("union_tag_invalid"):
        return ApiError(
            "unknown_type", unknown_type_message(unknown["ctx"]["tag"], MESSAGE_TYPES), MESSAGE_HINT, reply_to=reply_to
        )
    if "union_tag_not_found" in by_kind:
        text = f"The message has no `type`. The types are: {', '.join(MESSAGE_TYPES)}."
        return ApiError("bad_message", text, MESSAGE_HINT, reply_to=reply_to)
    code = "too_large" if by_kind.keys() & {"string_too_long", "too_long"} else "bad_message"
    text = problem_sentences(problems, whole="message", skip=1)
    return ApiError(code, f"The message cannot be read. {text}"[:1000], MESSAGE_HINT, reply_to=reply_to)


def _id_in(text: str) -> str | None:
    """The id of a message that is otherwise not read."""
    try:
        return _message_id(from_json(text))
    except ValueError:
        return None


def _message_id(value: Any) -> str | None:
    """The message's id, if it has a valid one."""
    message_id = value.get("id") if isinstance(value, dict) else None
    return message_id if isinstance(message_id, str) and MESSAGE_ID.fullmatch(message_id) else None
