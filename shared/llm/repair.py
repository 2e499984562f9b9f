"""Repairs malformed JSON of a model where no text is lost: a program without one of its quotes is another program."""

import json
import re
from typing import Any

from json_repair import repair_json

from shared.domain.storable import storable
from shared.llm.text_objects import COMMENT, STRING

_COMMENT = re.compile(rf"({STRING})|{COMMENT}|#[^\n]*", re.DOTALL)
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|([\\/\"'])|[bfnrt])")
_FRACTION = re.compile(r"(?<![0-9])[0-9]++(?:\.[0-9]+(?:e[+-]?[0-9]+)?|e[+-]?[0-9]+)")  # 1.50 is read as 1.5
_OPTIONAL_COMMA = re.compile(r",(?=\s*(?:[}\]]|([\"']?)[\w-]+\1\s*:))")
_STRING = re.compile(r'"((?:[^"\\]++|\\.)*+)"')


def repaired(source: str) -> dict[str, Any] | None:
    """The malformed object, all of whose strings and brackets are closed; None if it cannot be had without a loss."""
    try:
        value = repair_json(source, return_objects=True)
    except (ValueError, RecursionError):
        return None
    if not isinstance(value, dict) or not any(_same(value, text) for text in (source, _COMMENT.sub(r"\1", source))):
        return None
    return dict(storable(value))


def _same(value: dict[str, Any], source: str) -> bool:
    """Whether the value has all of the source but layout and commas at an end, and beyond it only quotes around names.

    A text with half a pair of quotes is one of two, between which the repair has parted a text.
    """
    written = json.dumps(value, ensure_ascii=False)
    if any(text.count(r"\"") % 2 for text in _STRING.findall(written)):
        return False
    before, after = _unescaped(source), _unescaped(written)
    added = sum(after.count(quote) - before.count(quote) for quote in "\"'")
    return added >= 0 and added % 2 == 0 and _words(before) == _words(after)


def _unescaped(text: str) -> str:
    return str(storable(_ESCAPE.sub(lambda match: chr(int(match[1], 16)) if match[1] else match[2] or " ", text)))


def _words(text: str) -> str:
    """The text without quotes, blanks and commas before brackets and names, and with Python's values as in JSON."""
    text = _FRACTION.sub(lambda number: str(float(number[0])), text.lower())
    return re.sub(r"[\s\"']+", "", _OPTIONAL_COMMA.sub("", text)).replace("none", "null")
