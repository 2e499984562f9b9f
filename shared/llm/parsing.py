"""Finds the requested object in what a model wrote: after its thoughts, in prose, fences and envelopes.

Of the objects outside the thoughts the last one that fits the schema is taken: a model that corrects itself writes the
better one later. An object is not taken if a later one has the fields of the reply and does not fit, or is not
finished. Nothing unfinished is completed.
"""

import json
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from json_repair import repair_json
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json

from parley.reply import json_value
from shared.llm.completion import PartialReply, joined
from shared.llm.faults import InvalidReply, TransientFault

REPAIR_LIMIT = 50_000  # characters; a text built to be hard to repair takes up to a second at this size
SEARCH_LIMIT = 5_000_000  # characters read in vain; the start of an object counts START_COST of them
START_COST = 1_000
MAX_OBJECTS = 100  # the last ones are tried
ARGUMENTS = ("arguments", "parameters", "input")  # of a tool call: an object, or the JSON text of one
_DECODER = json.JSONDecoder(strict=False)  # raw line breaks inside strings are common and harmless

_NAME = r"(?:\w+:)?(?:ant_?)?(?:think(?:ing)?|thoughts?|reasoning|analysis|reflection|scratchpad)"
_HARMONY = r"<\|channel\|>\s*{}[^<>{{]*(?:<\|constrain\|>[^<>{{]*)?<\|message\|>"
_MARK = re.compile(
    rf"""(?P<close></{_NAME}\s*>|\[/THINK\]|◁/think▷|<\|(?:END_THINKING|end_of_thought)\|>|<channel\|>
      |{_HARMONY.format(r"(?:final|commentary\s+to=)")}|assistantfinal(?=\s*(?:\{{|```)))
    |(?P<open><{_NAME}(?:\s[^<>]*)?>|\[THINK\]|◁think▷|<\|(?:START_THINKING|begin_of_thought)\|>|<\|channel>\s*thought
      |{_HARMONY.format(r"(?:analysis|commentary(?!\s+to=))")})
    |(?P<object>\{{(?=\s*(?:["'}}]|//|/\*)))""",
    re.VERBOSE | re.IGNORECASE,
)
_CLOSE = re.compile(_MARK.pattern.partition("|(?P<open>")[0], re.VERBOSE | re.IGNORECASE)
_BEFORE = re.compile(r"\s*(?:<[^<>]*>\s*)*(?:```\w*\s*)?")  # what may precede one
_AFTER = re.compile(r"[\s`\]]*(?:<[^<>]*>\s*)*")  # what may follow a whole reply: a fence, closing tags
_ATTEMPT = re.compile(r"\{\s*[\"']?[\w-]+[\"']?\s*:")
_TOKEN = re.compile(
    r"""\\.|"(?:[^"\\]++|\\.)*+"|(?<=[\[{,:])\s*'(?:[^'\\]++|\\.|'(?!\s*[,:}\]]))*+'|(?<=[\[{,:])\s*'|//[^\n]*|/\*.*?\*/|[\[\]{}"]""",
    re.DOTALL,
)


@dataclass
class _Object:
    """An object in a text. `value`: None if it is malformed; of an unfinished one, what has arrived."""

    start: int
    end: int
    value: dict[str, Any] | None = None
    is_open: bool = False


@dataclass
class _Reading:
    """What stands in a text: objects outside the thoughts, the words around them, and the thoughts."""

    objects: list[_Object] = field(default_factory=list)
    visible: str = ""
    thoughts: str = ""


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
        reading = _read(text)
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
    reading = _read(text)
    words = reading.visible.strip()
    if words[:1] == words[-1:] == '"' and isinstance(inner := json_value(words), str):
        text, reading = inner, _read(inner)
    if not reading.objects:
        raise InvalidReply("there is no JSON object in it", raw=text, no_object=True)
    if must_end and not _AFTER.fullmatch(text, reading.objects[-1].end):
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


def partial_object(text: str, fields: Collection[str] = ()) -> dict[str, Any] | None:
    """The last object in `text` with any of these fields, as far as it has arrived; None if there is nothing yet."""
    try:
        found = _read(text).objects
    except InvalidReply:
        return None
    values = (item.value for item in reversed(found) if item.value is not None)
    return next((value for value in values if not fields or not value or not value.keys().isdisjoint(fields)), None)


def error_lines(error: ValidationError) -> str:
    """The first ten errors, one per line, without the invalid values."""
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    lines = [f"{'.'.join(map(str, problem['loc'])) or 'object'}: {problem['msg']}" for problem in problems[:10]]
    return "\n".join(lines)


def _read(text: str) -> _Reading:
    """Tell thoughts from the answer by the tags outside of objects, and find the objects. Raises InvalidReply.

    A closing tag without an opening one ends thoughts that began with the text: templates often write the opening tag.
    """
    found: list[_Object] = []
    cuts: list[tuple[int, int]] = []
    opened: tuple[int, int] | None = None  # where thoughts began, and the number of objects before them
    position, cost = 0, 0
    while mark := _MARK.search(text, position):
        position = mark.end()
        if mark["close"]:
            if not opened:
                cuts.clear()
            begin, kept = opened or (0, 0)
            cuts.append((begin, position))
            del found[kept:]
            opened = None
        elif mark["open"]:
            opened = opened or (mark.start(), len(found))
        else:
            item, read = _object_at(text, mark.start())
            position = item.end if item else position
            cost += 0 if item and item.value is not None else read + START_COST
            found += [item] if item else []
            if cost > SEARCH_LIMIT:
                raise InvalidReply("too many pieces of it look like JSON: answer with one object alone", raw=text)
    if opened and not text[: opened[0]].rpartition("\n")[2].strip():  # else the tag is mentioned in a sentence
        cuts.append((opened[0], len(text)))
        del found[opened[1] :]
    ends = [0, *(end for _, end in cuts)]
    starts = [*(start for start, _ in cuts), len(text)]
    visible = "".join(text[end:start] for end, start in zip(ends, starts, strict=True))
    return _Reading(found, visible, "".join(text[start:end] for start, end in cuts))


def _object_at(text: str, start: int) -> tuple[_Object | None, int]:
    """The object that begins here, or None; and the number of characters that were read to find out."""
    try:
        value, end = _DECODER.raw_decode(text, start)
        return _Object(start, end, _whole_characters(value, text[start:end])), 0
    except RecursionError:
        return _Object(start, _next_close(text, start), is_open=True), len(text) - start
    except ValueError:
        pass
    try:
        value = from_json(text[start:], allow_partial="trailing-strings")
        return _Object(start, len(text), value, is_open=True), 0
    except ValueError:
        pass
    end, read = _closing_bracket(text, start)
    if end and not any(mark["close"] or mark["open"] for mark in _MARK.finditer(text, start, end)):
        return _Object(start, end), read
    if not end and _ATTEMPT.match(text, start):
        return _Object(start, _next_close(text, start), is_open=True), read
    return None, read


def _next_close(text: str, start: int) -> int:
    """Where the next closing tag of thoughts begins; the end of the text if there is none."""
    mark = _CLOSE.search(text, start)
    return mark.start() if mark else len(text)


def _closing_bracket(text: str, start: int) -> tuple[int, int]:
    """The end of the malformed object that begins here, 0 if it is not closed; and how many characters were read."""
    expected: list[str] = []
    end = start
    for token in _TOKEN.finditer(text, start):
        word, end = token[0], token.end()
        if word in "{[":
            expected.append("}" if word == "{" else "]")
        elif word in "}]":
            if expected.pop() != word:
                break
            if not expected:
                return end, end - start
        elif word.strip() in ('"', "'"):  # a string that does not end
            break
    return 0, len(text) - start


def _whole_characters(value: Any, source: str) -> Any:
    """The value with U+FFFD for halves of characters, which JSON can escape and UTF-8 cannot express."""
    return json.loads(joined(json.dumps(value, ensure_ascii=False))) if "\\u" in source else value


def _repaired(source: str) -> dict[str, Any] | None:
    """The malformed object, all of whose strings and brackets are closed."""
    try:
        value = repair_json(source, return_objects=True)
    except RecursionError:
        return None
    return _whole_characters(value, "\\u") if isinstance(value, dict) else None


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
        if isinstance(inner, dict):
            yield inner
            if name == "function":
                yield from _enclosed(inner, reply)


def _has_fields(value: dict[str, Any], reply: type[BaseModel]) -> bool:
    """Whether the object means to be the reply: it has all fields that this requires."""
    required = {name for name, info in reply.model_fields.items() if info.is_required()}
    return bool(required) and required <= value.keys()


def _only_object(thoughts: str) -> dict[str, Any] | None:
    """The object if the thoughts, or what follows them, consist of it, with nothing but a tag and a fence around it."""
    whole = _read(thoughts).visible.strip() or thoughts
    begin = _BEFORE.match(whole)
    start = begin.end() if begin else 0
    try:
        value, end = _DECODER.raw_decode(whole, start)
    except (ValueError, RecursionError):
        return None
    return _whole_characters(value, whole) if isinstance(value, dict) and _AFTER.fullmatch(whole, end) else None


def _why_empty(draft: PartialReply, thoughts: str) -> str:
    if draft.tool_calls:
        return f"it is a tool call ({draft.tool_calls[-1].name[:100]}) instead of an answer"
    if thoughts.strip():
        return "all of it was put into the thoughts (the reasoning), and nothing into the answer"
    return "it is empty"
