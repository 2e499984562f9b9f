"""Parses a model's text into the requested object."""

import json
import re
from typing import Any

from json_repair import repair_json
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from shared.llm.faults import InvalidReply

REPAIR_LIMIT = 50_000  # characters; a text built to be hard to repair takes up to a second at this size
_THOUGHTS = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL)
_START = re.compile(r"\{\s*[\"'}]")
_DECODER = json.JSONDecoder(strict=False)  # raw line breaks inside strings are common and harmless


def parse_reply[R: BaseModel](text: str, reply: type[R]) -> R:
    """Validate the first JSON object in `text`, which may be inside prose or a fence. Raises InvalidReply."""
    data = find_object(text)
    try:
        # through JSON again: strict models then see JSON's types, and lone surrogates are refused
        return reply.model_validate_json(json.dumps(data))
    except ValidationError as error:
        raise InvalidReply(error_lines(error), raw=text) from error


def find_object(text: str) -> dict[str, Any]:
    """The first JSON object in `text`, repaired if it is closed but malformed. Raises InvalidReply."""
    plain = _THOUGHTS.sub("", text)
    start = _START.search(plain)
    if start is None:
        raise InvalidReply("there is no JSON object in it", raw=text, prose=bool(plain.strip()))
    body = plain[start.start() :]
    try:
        value, _ = _DECODER.raw_decode(body)
    except (ValueError, RecursionError):
        value = _repair_closed(body)
    if not isinstance(value, dict):
        raise InvalidReply("the JSON in it is broken", raw=text)
    return value


def _repair_closed(body: str) -> object:
    """Repair an object that ends with a brace; a text that just stops could become half a program."""
    closed = body.rstrip().removesuffix("```").rstrip()
    if not closed.endswith("}") or len(closed) > REPAIR_LIMIT:
        return None
    try:
        return repair_json(closed, return_objects=True)
    except RecursionError:
        return None


def partial_object(text: str) -> dict[str, Any] | None:
    """The part of the object that has arrived, including an open string; None if there is nothing yet."""
    start = _START.search(_THOUGHTS.sub("", text))
    if start is None:
        return None
    try:
        value = from_json(start.string[start.start() :], allow_partial="trailing-strings")
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def error_lines(error: ValidationError) -> str:
    """The first ten errors, one per line, without the invalid values."""
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    lines = [f"{'.'.join(map(str, problem['loc'])) or 'object'}: {problem['msg']}" for problem in problems[:10]]
    return "\n".join(lines)
