"""The hash that an approval is bound to: SHA-256 of canonical JSON (RFC 8785), the same in every language."""

import hashlib
import json
import math

import rfc8785
from pydantic import JsonValue

EXACT = 2**53 - 1  # RFC 8785 writes numbers as doubles, which hold every integer up to this one
NUMBER = "$number"  # the only key of an object that stands for a number no double holds exactly


def canonical_hash(value: JsonValue) -> str:
    """SHA-256 in hex of the value as canonical JSON.

    An integer beyond `EXACT` counts as `{"$number": "<its digits>"}`, a float without a value as
    `{"$number": "nan"}`, "inf" or "-inf". A key of this name gets one more `$`, so nothing else has the same hash.
    """
    return hashlib.sha256(_canonical(value)).hexdigest()


def canonical_size(value: JsonValue) -> int:
    """Bytes of the value as canonical JSON."""
    return len(_canonical(value))


def _canonical(value: JsonValue) -> bytes:
    if isinstance(value, str):  # a program: json escapes the same characters in C, where rfc8785 calls Python for each
        return json.dumps(value, ensure_ascii=False).encode()
    return rfc8785.dumps(_tagged(value))


def _tagged(value: JsonValue) -> JsonValue:
    match value:
        case dict():
            return {_key(name): _tagged(item) for name, item in value.items()}
        case list() | tuple():
            return [_tagged(item) for item in value]
        case int() if abs(value) > EXACT:
            return {NUMBER: str(value)}
        case float() if not math.isfinite(value):
            return {NUMBER: str(value)}
        case _:
            return value


def _key(name: str) -> str:
    escaped = name.startswith("$") and "$" + name.lstrip("$") == NUMBER
    return f"${name}" if escaped else name
