"""The hash that an approval is bound to: SHA-256 of canonical JSON (RFC 8785), the same in every language."""

import hashlib
import json
import math

import rfc8785
from pydantic import JsonValue

MAX_EXACT_INT = 2**53 - 1  # RFC 8785 writes numbers as doubles, which hold every integer up to this
NUMBER_KEY = "$number"  # the only key of an object for a number that no double holds exactly


def canonical_hash(value: JsonValue) -> str:
    """SHA-256 in hex of the value as canonical JSON.

    An integer beyond `MAX_EXACT_INT` counts as `{"$number": "<its digits>"}`, a non-finite float as `{"$number":
    "nan"}`, "inf" or "-inf". A key that looks like `$number` gets one more `$`, so no other value has the same hash.
    """
    return hashlib.sha256(_canonical(value)).hexdigest()


def canonical_size(value: JsonValue) -> int:
    """Bytes of the value as canonical JSON."""
    return len(_canonical(value))


def _canonical(value: JsonValue) -> bytes:
    if isinstance(value, str):  # json escapes the same characters in C; rfc8785 calls Python for each
        return json.dumps(value, ensure_ascii=False).encode()
    return rfc8785.dumps(_tag_numbers(value))


def _tag_numbers(value: JsonValue) -> JsonValue:
    match value:
        case dict():
            return {_key(name): _tag_numbers(item) for name, item in value.items()}
        case list() | tuple():
            return [_tag_numbers(item) for item in value]
        case int() if abs(value) > MAX_EXACT_INT:
            return {NUMBER_KEY: str(value)}
        case float() if not math.isfinite(value):
            return {NUMBER_KEY: str(value)}
        case _:
            return value


def _key(name: str) -> str:
    escaped = name.startswith("$") and "$" + name.lstrip("$") == NUMBER_KEY
    return f"${name}" if escaped else name
