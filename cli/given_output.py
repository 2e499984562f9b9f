"""What a person types in a terminal as the output of a step that is skipped: JSON, or else text. Pure."""

import json

from pydantic import JsonValue


def read_output(typed: str) -> JsonValue:
    """Raises ValueError for null, for nothing, and for what begins like JSON and cannot be read."""
    text = typed.strip()
    try:
        value: JsonValue = json.loads(text)
    except ValueError as error:
        if not text or text[0] in '{["':
            raise ValueError(f"This is no JSON: {error}" if text else "The output is empty.") from None
        return text
    if value is None:
        raise ValueError("null is no output: skip the step without one.")
    return value
