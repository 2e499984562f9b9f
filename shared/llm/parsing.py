"""Finds the requested object in what a model wrote: after its thoughts, in prose, fences and envelopes.

Of the objects outside the thoughts the last one that fits the schema is taken: a model that corrects itself writes the
better one later. An object is not taken if a later one has the fields of the reply and does not fit, or is not
finished. Nothing unfinished is completed.
"""

import json
from collections.abc import Iterator
from typing import Any

from json_repair import repair_json
from pydantic import BaseModel, ValidationError

from parley.reply import json_value
from shared.llm.completion import PartialReply, joined
from shared.llm.faults import InvalidReply, TransientFault
from shared.llm.text_objects import AFTER, only_value, read_text, whole_characters

REPAIR_LIMIT = 50_000  # characters; a text built to be hard to repair takes up to a second at this size
MAX_OBJECTS = 100  # the last ones are tried
CALLS = ("tool_calls", "function", "function_call")
ARGUMENTS = ("arguments", "parameters", "input")  # of a tool call: an object, or the JSON text of one


def read_reply[R: BaseModel](draft: PartialReply, reply: type[R]) -> R:
    """The object in the answer, else in the arguments of a tool call, else the one that all thoughts consist of.

    Raises InvalidReply, or TransientFault if the server stopped in the middle.
    """
    text = draft.text
    said_to_end = draft.finish is not None or draft.ended
    try:
        return parse_reply(text, reply, must_end=not said_to_end)
    except InvalidReply as fault:
        for call in reversed(draft.tool_calls):
            try:
                return parse_reply(joined(call.arguments.getvalue()), reply, must_end=True)
            except InvalidReply:
                continue
        reading = read_text(text)
        thoughts = draft.thoughts or reading.thoughts
        if draft.finish == "stop" and not reading.visible.strip() and (value := _only_object(thoughts)) is not None:
            fitting = _validated(value, reply)
            if not isinstance(fitting, ValidationError):
                return fitting
        if (fault.unfinished and draft.finish is None) or (fault.no_object and not said_to_end):
            raise TransientFault("the reply was cut off", raw=text) from fault
        if not fault.no_object or (reading.visible.strip() and not draft.tool_calls):
            raise
        raise InvalidReply(_why_empty(draft, thoughts), raw=text, no_object=True) from fault


def parse_reply[R: BaseModel](text: str, reply: type[R], *, must_end: bool = False) -> R:
    """Validate the object in `text`. Raises InvalidReply.

    With `must_end`, nothing but closing tags and fences may follow it.
    """
    reading = read_text(text)
    if not reading.objects:
        if isinstance(inner := only_value(reading.visible), str):
            return parse_reply(inner, reply, must_end=must_end)
        raise InvalidReply("there is no JSON object in it", raw=text, no_object=True)
    if must_end and not AFTER.fullmatch(text, reading.objects[-1].end):
        raise InvalidReply("it was cut off", raw=text, unfinished=True)
    failures: list[tuple[int, str]] = []  # the size of each object, and what is wrong with it
    left_to_repair = REPAIR_LIMIT
    for found in reversed(reading.objects[-MAX_OBJECTS:]):
        if found.is_open:
            raise InvalidReply("it ends in the middle of its JSON object", raw=text, unfinished=True)
        size = found.end - found.start
        value = found.value
        if value is None:
            left_to_repair -= size
            value = _repaired(text[found.start : found.end]) if left_to_repair >= 0 else None
        if value is None:
            failures.append((size, "the JSON in it is broken"))
            continue
        fitting = _fitting(value, reply)
        if not isinstance(fitting, ValidationError):
            return fitting
        failures.append((size, error_lines(fitting)))
        if _has_fields(value, reply):
            raise InvalidReply(error_lines(fitting), raw=text) from fitting
    raise InvalidReply(max(failures)[1], raw=text)


def error_lines(error: ValidationError) -> str:
    """The first ten errors, one per line, without the invalid values."""
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    lines = [f"{'.'.join(map(str, problem['loc'])) or 'object'}: {problem['msg']}" for problem in problems[:10]]
    return "\n".join(lines)


def _repaired(source: str) -> dict[str, Any] | None:
    """The malformed object, all of whose strings and brackets are closed."""
    try:
        value = repair_json(source, return_objects=True)
    except RecursionError:
        return None
    return whole_characters(value, "\\u") if isinstance(value, dict) else None


def _validated[R: BaseModel](value: dict[str, Any], reply: type[R]) -> R | ValidationError:
    try:
        return reply.model_validate_json(json.dumps(value))  # through JSON again: strict models then see JSON's types
    except ValidationError as error:
        return error


def _fitting[R: BaseModel](value: dict[str, Any], reply: type[R]) -> R | ValidationError:
    """The reply that this object is, has beside other keys, or encloses as a tool call does; or why it is none."""
    fitting = _validated(value, reply)
    for inner in _enclosed(value, reply):
        if not isinstance(fitting, ValidationError):
            break
        enclosed = _validated(inner, reply)
        fitting = fitting if isinstance(enclosed, ValidationError) else enclosed
    return fitting


def _enclosed(value: dict[str, Any], reply: type[BaseModel]) -> Iterator[dict[str, Any]]:
    names = reply.model_fields if _has_fields(value, reply) else value
    for name in filter(value.__contains__, names):
        inner = json_value(value[name]) if name in ARGUMENTS else value[name]
        for item in inner if name == "tool_calls" and isinstance(inner, list) else [inner]:
            if isinstance(item, dict):
                yield item
                yield from _enclosed(item, reply) if name in CALLS else ()


def _has_fields(value: dict[str, Any], reply: type[BaseModel]) -> bool:
    """Whether the object means to be the reply: it has all fields that this requires."""
    required = {name for name, info in reply.model_fields.items() if info.is_required()}
    return bool(required) and required <= value.keys()


def _only_object(thoughts: str) -> dict[str, Any] | None:
    """The object if the thoughts, or what follows them, consist of it."""
    value = only_value(read_text(thoughts).visible.strip() or thoughts)
    return value if isinstance(value, dict) else None


def _why_empty(draft: PartialReply, thoughts: str) -> str:
    if draft.tool_calls:
        return f"it is a tool call ({draft.tool_calls[-1].name[:100]}) instead of an answer"
    if thoughts.strip():
        return "all of it was put into the thoughts (the reasoning), and nothing into the answer"
    return "it is empty"
