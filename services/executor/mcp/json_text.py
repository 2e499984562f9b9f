"""JSON text as programs really send it: with halves of characters, marks and other output around it."""

import json
import re
from collections.abc import Iterator

from pydantic import JsonValue

MARK = "�"
MAX_TRIES = 100  # places in a text that look like the beginning of an object
MAX_HALVES = 100_000  # half characters in a text
_HALF_BYTES = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
_HALF = re.compile(  # what is in order, then half of a surrogate pair
    r"((?:[^\\]++|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\(?!u[dD][89a-fA-F])[\s\S])*+)"
    r"(\\u[dD][89a-fA-F][0-9a-fA-F]{2})?"
)
_BEGINNING = re.compile(r'\{(?=\s*["}])')
_DECODER = json.JSONDecoder(strict=False)


def mended(data: bytes) -> bytes:
    """The JSON text without a byte order mark, and with one mark in place of each half of a character."""
    text = _HALF_BYTES.sub(MARK.encode(), data).decode(errors="replace").lstrip("\ufeff")
    if "\\ud" in text or "\\uD" in text:
        text = _HALF.sub(lambda match: match[1] + (MARK if match[2] else ""), text, MAX_HALVES)
    return text.encode()


def json_objects(text: str) -> Iterator[dict[str, JsonValue]]:
    """The JSON objects that the text contains, outside of each other."""
    end = tries = 0
    for beginning in _BEGINNING.finditer(text):
        if beginning.start() < end:
            continue
        try:
            value, end = _DECODER.raw_decode(text, beginning.start())
        except (ValueError, RecursionError):
            tries += 1
            if tries == MAX_TRIES:
                return
        else:
            yield value


def is_json(text: bytes) -> bool:
    """Whether the text is one JSON value."""
    try:
        _DECODER.decode(text.decode())
    except (ValueError, RecursionError):
        return False
    return True
