"""Finds the requested object in what a model wrote: after its thoughts, in prose, fences and envelopes.

Of the objects outside the thoughts the last one that fits the schema is taken: a model that corrects itself writes the
better one later. An object is not taken if a later one has the fields of the reply and does not fit, is not finished,
or is malformed at the end. Nothing unfinished is completed, and nothing is repaired at the cost of its text.
"""

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import BaseModel, ValidationError

from parley.reply import json_value
from shared.domain.kernel.storable import storable
from shared.llm.completion import ErrorAnswer, PartialReply
from shared.llm.faults import InvalidReply, TransientFault
from shared.llm.text_objects import COMMENT, REPLY_SUFFIX, STRING, only_value, read_text

_PROGRAM = """
import json, resource, sys, json_repair
resource.setrlimit(resource.RLIMIT_CPU, (10, 10))  # seconds; it ends even if the caller is gone
sys.stdout.write(json_repair.repair_json(json.load(sys.stdin)))
"""
_COMMENT = re.compile(rf"({STRING})|{COMMENT}|#[^\n]*", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([\\/\"'])|[bfnrt])")
_FRACTION = re.compile(r"(?<![0-9])[0-9]++(?:\.[0-9]+(?:e[+-]?[0-9]+)?|e[+-]?[0-9]+)")  # 1.50 is read as 1.5
_OPTIONAL_COMMA = re.compile(r",(?=\s*(?:[}\]]|([\"']?)[\w-]+\1\s*:))")
_ANY_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_LAST_BREAK = re.compile(r"""\\n["']\s*[,}\]"']|\n["']\s*[,}\]]""")  # at the end of a text: the repair drops it
_STRING = re.compile(r'"((?:[^"\\]++|\\.)*+)"')
REPAIR_LIMIT = 5.0  # seconds for all repairs of a text
MAX_OBJECTS = 100  # the last ones are tried
CALLS = ("tool_calls", "function", "function_call")
BROKEN = 'the JSON in it is broken: a quote within a text is written \\", a line break \\n, a backslash \\\\'
_REST_OF_TEXT = re.compile(r"[^{}\"']*+[\"'][^{}]*+\}")  # after an object that a quote and a brace of its text closed
Extra = Literal["forbid"] | None  # an unknown name in a repaired object may be a part of a text
ARGUMENTS = ("arguments", "parameters", "input")  # of a tool call: an object, or the JSON text of one


def repaired(source: str, seconds: float) -> dict[str, Any] | None:
    """The repaired object; None if a repair would lose text or take longer. Blocks: call it outside the event loop.

    All strings and brackets of the source must be closed: the repair would close them itself.
    """
    escapes = {escape for escape in _ANY_ESCAPE.findall(source) if len(escape) == 1}
    is_ambiguous = escapes - set("\"'\\/bfnrt") and escapes & set("bfnrt")  # C:\Users\bob has no backspace
    if seconds <= 0 or is_ambiguous or _LAST_BREAK.search(source):
        return None
    value = _repair_json(source, seconds)
    if not isinstance(value, dict) or not any(
        _keeps_all_text(value, text) for text in (source, _COMMENT.sub(r"\1", source))
    ):
        return None
    return dict(storable(value))


def _repair_json(source: str, seconds: float) -> Any:
    """What json_repair makes of the source; None if it fails or takes too long."""
    try:
        done = subprocess.run(  # noqa: S603  our own program; the source is its input
            [sys.executable, "-I", "-c", _PROGRAM],
            input=json.dumps(source).encode(),
            capture_output=True,
            timeout=seconds,
            check=True,
        )
        return json.loads(done.stdout)
    except (subprocess.SubprocessError, OSError, ValueError, RecursionError):
        return None


def _keeps_all_text(value: dict[str, Any], source: str) -> bool:
    """Whether the value keeps all text of the source. Layout and optional commas may differ, and quotes come in pairs.

    A text with an odd number of quotes is refused: the repair may have split one text in two.
    """
    written = json.dumps(value, ensure_ascii=False)
    if any(text.count(r"\"") % 2 for text in _STRING.findall(written)):
        return False
    before, after = _unescaped(source), _unescaped(written)
    added = sum(after.count(quote) - before.count(quote) for quote in "\"'")
    return added >= 0 and added % 2 == 0 and _normalized(before) == _normalized(after)


def _unescaped(text: str) -> str:
    return str(storable(_ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else match[2] or " ", text)))


def _normalized(text: str) -> str:
    """The text to compare: in lower case, without quotes, blanks and optional commas, with `none` as `null`."""
    text = _FRACTION.sub(lambda number: str(float(number[0])), text.lower())
    return re.sub(r"[\s\"']+", "", _OPTIONAL_COMMA.sub("", text)).replace("none", "null")


def read_reply[R: BaseModel](draft: PartialReply, reply: type[R]) -> R:
    """The object in the answer, else in the arguments of a tool call, else the one that all thoughts consist of.

    Raises InvalidReply, or TransientFault if the server stopped in the middle, or ErrorAnswer if it said why.
    """
    text = draft.text
    said_to_end = draft.finish is not None or draft.stream_done
    try:
        return parse_reply(text, reply, must_end=not said_to_end)
    except InvalidReply as fault:
        for call in reversed(draft.tool_calls):
            try:
                return parse_reply(storable(call.arguments.getvalue()), reply, must_end=True)
            except InvalidReply:
                continue
        reading = read_text(text)
        thoughts = draft.thoughts or reading.thoughts
        if draft.finish == "stop" and not reading.visible.strip():
            for value in map(_only_object, (reading.thoughts, draft.thoughts)):
                if value is not None and isinstance(fitting := _validated(value, reply), reply):
                    return fitting
        if draft.finish is None and draft.non_completion is not None and (fault.unfinished or fault.no_object):
            raise ErrorAnswer({"error": draft.non_completion}) from fault  # this came instead of the rest
        if (fault.unfinished and draft.finish is None) or (fault.no_object and not said_to_end):
            raise TransientFault("the reply was cut off", raw=text) from fault
        if not fault.no_object or (reading.visible.strip() and not draft.tool_calls):
            raise
        raise InvalidReply(_why_empty(draft, thoughts), raw=text, no_object=True) from fault


def parse_reply[R: BaseModel](text: str, reply: type[R], *, must_end: bool = False) -> R:
    """Validate the object in `text`. Raises InvalidReply. Blocks while a repair runs.

    With `must_end`, nothing but closing tags and fences may follow it.
    """
    reading = read_text(text)
    if not reading.objects:
        if isinstance(inner := only_value(reading.visible), str):
            return parse_reply(inner, reply, must_end=must_end)
        raise InvalidReply("there is no JSON object in it", raw=text, no_object=True)
    if must_end and not REPLY_SUFFIX.fullmatch(text, reading.objects[-1].end):
        raise InvalidReply("it was cut off", raw=text, unfinished=True)
    failures: list[tuple[int, str]] = []  # the size of each object, and what is wrong with it
    deadline = time.monotonic() + REPAIR_LIMIT
    for item in reversed(reading.objects[-MAX_OBJECTS:]):
        if item.is_unfinished:
            raise InvalidReply("it ends in the middle of its JSON object", raw=text, unfinished=True)
        source, value = text[item.start : item.end], item.value
        if value is None:
            value = repaired(source, deadline - time.monotonic())
        fitting = None if value is None else _fitting(value, reply, "forbid" if item.value is None else None)
        is_cut = _REST_OF_TEXT.match(text, item.end) is not None
        if isinstance(fitting, reply) and not is_cut:
            return fitting
        why = error_lines(fitting) if isinstance(fitting, ValidationError) and not is_cut else BROKEN
        is_end = item.value is None and REPLY_SUFFIX.fullmatch(text, item.end)
        if is_end or isinstance(fitting, reply) or _has_fields(value or source, reply):
            raise InvalidReply(why, raw=text)
        failures.append((len(source), why))
    raise InvalidReply(max(failures)[1], raw=text)


def error_lines(error: ValidationError) -> str:
    """The first ten errors, one per line, without the invalid values."""
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    lines = [f"{'.'.join(map(str, problem['loc'])) or 'object'}: {problem['msg']}" for problem in problems[:10]]
    return "\n".join(lines)


def _validated[R: BaseModel](value: dict[str, Any], reply: type[R], extra: Extra = None) -> R | ValidationError:
    try:  # through JSON again: strict models then see JSON's types
        return reply.model_validate_json(json.dumps(value), extra=extra)
    except ValidationError as error:
        return error


def _fitting[R: BaseModel](value: dict[str, Any], reply: type[R], extra: Extra) -> R | ValidationError:
    """The reply that this object is, has beside other keys, or encloses as a tool call does; or why it is none.

    Of several enclosed ones the last is taken: a draft comes before the final one.
    """
    own = _validated(value, reply, extra)
    if isinstance(own, reply):
        return own
    fitting = (_validated(item, reply, extra) for item in reversed(list(_enclosed(value, reply))))
    return next((inner for inner in fitting if isinstance(inner, reply)), own)


def _enclosed(value: dict[str, Any], reply: type[BaseModel]) -> Iterator[dict[str, Any]]:
    names = reply.model_fields if _has_fields(value, reply) else value
    for name in filter(value.__contains__, names):
        inner = json_value(value[name]) if name in ARGUMENTS else value[name]
        for item in inner if name == "tool_calls" and isinstance(inner, list) else [inner]:
            if isinstance(item, dict):
                yield item
                yield from _enclosed(item, reply) if name in CALLS else ()


def _has_fields(value: dict[str, Any] | str, reply: type[BaseModel]) -> bool:
    """Whether the object, or the text of a broken one, means to be the reply: it has all fields that this requires."""
    required = [name for name, info in reply.model_fields.items() if info.is_required()]
    return bool(required) and all(name in value for name in required)


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
