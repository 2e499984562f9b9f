"""JSON text as programs really send it: with halves of characters, marks and other output around it."""

import json
import re
from collections.abc import Iterator, Mapping

from pydantic import JsonValue

REPLACEMENT = "�"
MAX_TRIES = 100  # places in a text that look like the beginning of an object
MAX_HALVES = 100_000  # half characters in a text
_HALF_BYTES = re.compile(rb"\xed[\xa0-\xbf][\x80-\xbf]")
_HALF = re.compile(  # what is in order, then half of a surrogate pair
    r"((?:[^\\]++|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\(?!u[dD][89a-fA-F])[\s\S])*+)"
    r"(\\u[dD][89a-fA-F][0-9a-fA-F]{2})?"
)
_FLOAT_ID = re.compile(rb'("id"\s*:\s*-?[0-9]+)\.0+(?=\s*[,}])')
_BEGINNING = re.compile(r'\{(?=\s*["}])')
_DECODER = json.JSONDecoder(strict=False)


def mended(data: bytes) -> bytes:
    """The JSON text without a byte order mark, with one replacement for each half of a character, and whole ids.

    Some languages read the id 1 as a float, and answer to 1.0.
    """
    data = _FLOAT_ID.sub(rb"\1", data)
    text = _HALF_BYTES.sub(REPLACEMENT.encode(), data).decode(errors="replace").lstrip("\ufeff")
    if "\\ud" in text or "\\uD" in text:
        text = _HALF.sub(lambda match: match[1] + (REPLACEMENT if match[2] else ""), text, MAX_HALVES)
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


def camel_or_snake(fields: Mapping[str, JsonValue], name: str) -> JsonValue:
    """The field of this name, or of its snake_case form: some servers send the names of their own language."""
    return fields.get(name, fields.get(re.sub("[A-Z]", lambda match: f"_{match[0].lower()}", name)))
