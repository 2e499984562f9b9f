"""Finds the JSON objects in what a model wrote, and tells its thoughts from its answer."""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

from pydantic_core import from_json

from shared.domain.kernel.storable import storable
from shared.llm.faults import InvalidReply

REPLY_SUFFIX = re.compile(r"[\s`\]]*(?:<[^<>]*>\s*)*")  # what may follow a whole reply: a fence, closing tags
SEARCH_LIMIT = 2_000_000  # budget of read_text: 100 per valid object, 500 plus the characters read per malformed one
_DECODER = json.JSONDecoder(strict=False)  # raw line breaks inside strings are common and harmless

_NAME = r"(?:\w+:|longcat_)?(?:ant[_-]?)?(?:think(?:ing)?|thoughts?|reasoning|analysis|reflection|scratchpad)"
_MESSAGE = r"[^<>{]*(?:<\|constrain\|>[^<>{]*)?<\|message\|>"  # the end of a header in OpenAI's harmony format
_CHANNEL = r"<\|channel\|>\s*"
_CALL = rf"{_CHANNEL}(?:analysis|commentary)\s+to=|\bto=[\w.-]+\s*{_CHANNEL}(?:analysis|commentary)"  # of a tool
_CLOSING = rf"""</{_NAME}\s*>|\[/THINK\]|◁/think▷|<\|(?:END_THINKING|end_of_thought)\|>|<channel\|>
    |<unused95>|\[unused17\]|(?:{_CHANNEL}final|{_CALL}){_MESSAGE}
    |assistantfinal(?=[^\W\d_]|\s*(?:json\s*)?(?:\{{|```))"""
_OPENING = rf"""<{_NAME}(?:\s[^<>]*)?>|\[THINK\]|◁think▷|<\|(?:START_THINKING|begin_of_thought)\|>
    |<\|channel>\s*thought|<unused94>|\[unused16\]|{_CHANNEL}(?:analysis|commentary)(?!\s+to=){_MESSAGE}"""
_OBJECT = r"""\{(?=\s*(?:["'}]|//|/\*))"""
_CLOSING_TAG = re.compile(_CLOSING, re.VERBOSE | re.IGNORECASE)
_TAGS = re.compile(rf"(?P<close>{_CLOSING})|(?P<open>{_OPENING})|(?P<object>{_OBJECT})", re.VERBOSE | re.IGNORECASE)
_REPLY_PREFIX = re.compile(r"\s*(?:<[^<>]*>\s*)*(?:```\w*\s*)?")
_UNFINISHED_END = re.compile(r"\s*(?:t|tr|tru|f|fa|fal|fals|n|nu|nul|-|\\u?[0-9a-fA-F]{0,4})?\Z")
_OBJECT_START = re.compile(r"\{\s*[\"']?[\w-]+[\"']?\s*:")
# a string that is not closed ends with the text, as a comment does
STRING = r"""\\.|"(?:[^"\\]++|\\.?)*+(?:"|\Z)|(?<=[\[{,:])\s*'(?:[^'\\]++|\\.?|'(?!\s*[,:}\]]))*+(?:'|\Z)"""
COMMENT = r"//[^\n]*|/\*.*?(?:\*/|\Z)"
_TOKEN = re.compile(rf"{STRING}|{COMMENT}|[\[\]{{}}]", re.DOTALL)


@dataclass
class TextObject:
    """An object in a text. `value`: None if it is malformed; of an unfinished one, what has arrived."""

    start: int
    end: int
    value: dict[str, Any] | None = None
    is_unfinished: bool = False


@dataclass
class TextReading:
    """What stands in a text: objects outside the thoughts, the words around them, and the thoughts."""

    objects: list[TextObject] = field(default_factory=list)
    visible: str = ""
    thoughts: str = ""


def partial_object(text: str, fields: Collection[str] = ()) -> dict[str, Any] | None:
    """The last object in `text` with any of these fields, as far as it has arrived; None if there is nothing yet."""
    try:
        objects = read_text(text).objects
    except InvalidReply:
        return None
    values = (item.value for item in reversed(objects) if item.value is not None)
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
    objects: list[TextObject] = []
    thoughts: list[tuple[int, int]] = []  # where they begin and end
    opened: tuple[int, int] | None = None  # where thoughts began, and the number of objects before them
    unclosed, position, cost = 0, 0, 0
    while tag := _TAGS.search(text, position):
        position = tag.end()
        if tag["close"]:
            unclosed -= 1
            if thoughts and unclosed < 0 and _is_end(text, position):  # a tag too much after the answer
                continue
            if not opened:
                thoughts.clear()
            begin, count = opened or (0, 0)
            thoughts.append((begin, position))
            del objects[count:]
            opened = None
        elif tag["open"]:
            unclosed = max(unclosed, 0) + 1
            opened = opened or (tag.start(), len(objects))
        else:
            item, read = _object_at(text, tag.start())
            position = item.end if item else position
            cost += 100 if item and item.value is not None else read + 500
            objects += [item] if item else []
            if cost > SEARCH_LIMIT:
                raise InvalidReply("too many pieces of it look like JSON: answer with one object alone", raw=text)
    if opened and not text[: opened[0]].rpartition("\n")[2].strip():  # else the tag is mentioned in a sentence
        thoughts.append((opened[0], len(text)))
        del objects[opened[1] :]
    ends = [0, *(end for _, end in thoughts)]
    starts = [*(start for start, _ in thoughts), len(text)]
    visible = "".join(text[end:start] for end, start in zip(ends, starts, strict=True))
    return TextReading(objects, visible, "".join(text[start:end] for start, end in thoughts))


def _is_end(text: str, position: int) -> bool:
    return len(text) - position < 100 and REPLY_SUFFIX.fullmatch(text, position) is not None  # the bound saves time


def _object_at(text: str, start: int) -> tuple[TextObject | None, int]:
    """The object that begins here, or None; and the number of characters that were read to find out."""
    try:
        value, end = _DECODER.raw_decode(text, start)
        return TextObject(start, end, storable(value)), 0
    except RecursionError:
        return TextObject(start, _next_close(text, start), is_unfinished=True), len(text) - start
    except json.JSONDecodeError as error:
        if error.msg.startswith("Unterminated string") or _UNFINISHED_END.match(text, error.pos):
            return TextObject(start, len(text), _arrived(text[start:]), is_unfinished=True), 0
    except ValueError:  # a number of thousands of digits
        pass
    end, read = _closing_bracket(text, start)
    if end and not any(tag["close"] or tag["open"] for tag in _TAGS.finditer(text, start, end)):
        return TextObject(start, end), read
    if not end and _OBJECT_START.match(text, start):
        return TextObject(start, _next_close(text, start), is_unfinished=True), read
    return None, read


def _arrived(source: str) -> dict[str, Any] | None:
    """What has arrived of an object that is valid so far."""
    try:
        value = from_json(source, allow_partial="trailing-strings")
    except (ValueError, TypeError):  # nested too deeply, with raw line breaks, or with half a character
        return None
    return value if isinstance(value, dict) else None


def _next_close(text: str, start: int) -> int:
    """Where the next closing tag of thoughts begins; the end of the text if there is none."""
    tag = _CLOSING_TAG.search(text, start)
    return tag.start() if tag else len(text)


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
    return 0, len(text) - start


def only_value(text: str) -> Any:
    """The JSON value that the text consists of, with nothing but tags and a fence around it; else None."""
    start = _REPLY_PREFIX.match(text).end()  # type: ignore[union-attr]
    try:
        value, end = _DECODER.raw_decode(text, start)
        return storable(value) if REPLY_SUFFIX.fullmatch(text, end) else None
    except (ValueError, RecursionError):
        return None
