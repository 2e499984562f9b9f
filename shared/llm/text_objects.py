"""Finds the JSON objects in what a model wrote, and tells its thoughts from its answer."""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import from_json

from shared.llm.completion import joined
from shared.llm.faults import InvalidReply

AFTER = re.compile(r"[\s`\]]*(?:<[^<>]*>\s*)*")  # what may follow a whole reply: a fence, closing tags
SEARCH_LIMIT = 2_000_000  # characters read in vain; an object counts 100, the start of a malformed one 500 of them
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
_CUT = re.compile(r"\s*(?:t|tr|tru|f|fa|fal|fals|n|nu|nul|-|\\u?[0-9a-fA-F]{0,4})?\Z")  # the end of unfinished JSON
_ATTEMPT = re.compile(r"\{\s*[\"']?[\w-]+[\"']?\s*:")
_TOKEN = re.compile(
    r"""\\.|"(?:[^"\\]++|\\.)*+"|(?<=[\[{,:])\s*'(?:[^'\\]++|\\.|'(?!\s*[,:}\]]))*+'|(?<=[\[{,:])\s*'|//[^\n]*|/\*.*?\*/|[\[\]{}"]""",
    re.DOTALL,
)


@dataclass
class TextObject:
    """An object in a text. `value`: None if it is malformed; of an unfinished one, what has arrived."""

    start: int
    end: int
    value: dict[str, Any] | None = None
    is_open: bool = False


@dataclass
class TextReading:
    """What stands in a text: objects outside the thoughts, the words around them, and the thoughts."""

    objects: list[TextObject] = field(default_factory=list)
    visible: str = ""
    thoughts: str = ""


def partial_object(text: str, fields: Collection[str] = ()) -> dict[str, Any] | None:
    """The last object in `text` with any of these fields, as far as it has arrived; None if there is nothing yet."""
    try:
        found = read_text(text).objects
    except InvalidReply:
        return None
    values = (item.value for item in reversed(found) if item.value is not None)
    return next((value for value in values if not fields or not value or not value.keys().isdisjoint(fields)), None)


def without_thoughts(text: str) -> str:
    """The answer alone: chat templates refuse thoughts of earlier turns, or drop them."""
    try:
        return read_text(text).visible.strip()
    except InvalidReply:
        return text


def read_text(text: str) -> TextReading:
    """Tell thoughts from the answer by the tags outside of objects, and find the objects. Raises InvalidReply.

    A closing tag without an opening one ends thoughts that began with the text: templates often write the opening tag.
    """
    found: list[TextObject] = []
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
            cost += 100 if item and item.value is not None else read + 500
            found += [item] if item else []
            if cost > SEARCH_LIMIT:
                raise InvalidReply("too many pieces of it look like JSON: answer with one object alone", raw=text)
    if opened and not text[: opened[0]].rpartition("\n")[2].strip():  # else the tag is mentioned in a sentence
        cuts.append((opened[0], len(text)))
        del found[opened[1] :]
    ends = [0, *(end for _, end in cuts)]
    starts = [*(start for start, _ in cuts), len(text)]
    visible = "".join(text[end:start] for end, start in zip(ends, starts, strict=True))
    return TextReading(found, visible, "".join(text[start:end] for start, end in cuts))


def _object_at(text: str, start: int) -> tuple[TextObject | None, int]:
    """The object that begins here, or None; and the number of characters that were read to find out."""
    try:
        value, end = _DECODER.raw_decode(text, start)
        return TextObject(start, end, whole_characters(value, text[start:end])), 0
    except RecursionError:
        return TextObject(start, _next_close(text, start), is_open=True), len(text) - start
    except json.JSONDecodeError as error:
        if error.msg.startswith("Unterminated string") or _CUT.match(text, error.pos):
            return TextObject(start, len(text), _arrived(text[start:]), is_open=True), 0
    end, read = _closing_bracket(text, start)
    if end and not any(mark["close"] or mark["open"] for mark in _MARK.finditer(text, start, end)):
        return TextObject(start, end), read
    if not end and _ATTEMPT.match(text, start):
        return TextObject(start, _next_close(text, start), is_open=True), read
    return None, read


def _arrived(source: str) -> dict[str, Any] | None:
    """What has arrived of an object that is valid so far."""
    try:
        value = from_json(source, allow_partial="trailing-strings")
    except ValueError:  # nested too deeply, or with raw line breaks
        return None
    return value if isinstance(value, dict) else None


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


def whole_characters(value: Any, source: str) -> Any:
    """The value with U+FFFD for halves of characters, which JSON can escape and UTF-8 cannot express."""
    return json.loads(joined(json.dumps(value, ensure_ascii=False))) if "\\u" in source else value


def only_value(text: str) -> Any:
    """The JSON value that the text consists of, with nothing but tags and a fence around it; else None."""
    begin = _BEFORE.match(text)
    try:
        value, end = _DECODER.raw_decode(text, begin.end() if begin else 0)
    except (ValueError, RecursionError):
        return None
    return whole_characters(value, text) if AFTER.fullmatch(text, end) else None
