"""Parses the output that a user types for a skipped step: JSON, or else text. Pure."""

import json

from pydantic import JsonValue

from parley.protocol.words import REVIEW


def parse_output(typed: str) -> JsonValue:
    """The value. Raises ValueError for empty input, for null, and for malformed JSON."""
    text = typed.strip()
    try:
        value: JsonValue = json.loads(text)
    except ValueError as error:
        if not text or text[0] in '{["':
            raise ValueError(REVIEW["skip_json"].format(why=error) if text else REVIEW["skip_empty"]) from None
        return text
    if value is None:
        raise ValueError(REVIEW["skip_null"])
    return value
