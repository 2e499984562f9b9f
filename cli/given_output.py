"""What a person types in a terminal as the output of a step that is skipped: JSON, or else text. Pure."""

import json

from pydantic import JsonValue

from parley.protocol.words import REVIEW


def read_output(typed: str) -> JsonValue:
    """Raises ValueError for null, for nothing, and for what begins like JSON and cannot be read."""
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
