"""From what a model wrote to the object that was asked for."""

import json
import re
from typing import Any

from json_repair import repair_json
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from shared.llm.faults import BadReply

REPAIR_LIMIT = 50_000  # characters; what is made to be hard to repair takes up to a second at this size
_THOUGHTS = re.compile(r"<think>.*?(</think>|\Z)", re.DOTALL)
_START = re.compile(r"\{\s*[\"'}]")
_DECODER = json.JSONDecoder(strict=False)  # raw line breaks inside strings are common and harmless


def parse_reply[R: BaseModel](text: str, reply: type[R]) -> R:
    """Validate the one JSON object in `text`, which may stand in prose or a fence; raise `BadReply`."""
    found = find_object(text)
    try:
        # through JSON again: strict models then see JSON's types, and lone surrogates are refused
        return reply.model_validate_json(json.dumps(found))
    except ValidationError as error:
        raise BadReply(explain(error), raw=text) from error


def find_object(text: str) -> dict[str, Any]:
    """The first JSON object in `text`, mended where it is closed but broken; raise `BadReply`."""
    plain = _THOUGHTS.sub("", text)
    start = _START.search(plain)
    if start is None:
        raise BadReply("there is no JSON object in it", raw=text, prose=bool(plain.strip()))
    body = plain[start.start() :]
    try:
        found, _ = _DECODER.raw_decode(body)
    except (ValueError, RecursionError):
        found = _mend(body)
    if not isinstance(found, dict):
        raise BadReply("the JSON in it is broken", raw=text)
    return found


def _mend(body: str) -> object:
    """Repair what ends with its closing brace; a text that just stops would come out as half a program."""
    closed = body.rstrip().removesuffix("```").rstrip()
    if not closed.endswith("}") or len(closed) > REPAIR_LIMIT:
        return None
    try:
        return repair_json(closed, return_objects=True)
    except RecursionError:
        return None


def partial_object(text: str) -> dict[str, Any] | None:
    """As much of the object as has arrived, an open string included; None while there is nothing to show."""
    start = _START.search(_THOUGHTS.sub("", text))
    if start is None:
        return None
    try:
        found = from_json(start.string[start.start() :], allow_partial="trailing-strings")
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def explain(error: ValidationError) -> str:
    """The errors, one a line, without the values that caused them."""
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    lines = [f"{'.'.join(map(str, problem['loc'])) or 'object'}: {problem['msg']}" for problem in problems[:10]]
    return "\n".join(lines)
