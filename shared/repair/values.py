"""Converts values to the JSON type that a schema wants, where there is only one way to read them."""

import ast
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import cast

from pydantic import JsonValue

from shared.repair.schema import is_bounded, is_finite
from shared.text import cut

MAX_QUOTE = 80  # characters of a quoted value
MAX_TEXT = 100_000  # characters; longer texts are not parsed
_MAX_NESTED_TEXTS = 3  # levels of texts that contain texts
_MAX_DIGITS = 400  # characters of a number in a text
_NUMBER = re.compile(r"\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*")
_FENCE = re.compile(r"\A\s*```[a-zA-Z]*\n(.*?)\n?```\s*\Z", re.DOTALL)
_OUTSIDE = re.compile(  # an unclosed quote extends to the end: one scan
    r"""("(?:\\.|[^"\\])*+"?|'(?:\\.|[^'\\])*+'?)|\b(true|false|null)\b""", re.DOTALL
)
_BRACKETS = re.compile(r"\[[^\[\]]*\]")
_QUOTED = re.compile(r"""\A(['"])([^'"]*)\1\Z""")
_FORMATS = (
    *("date", "date-time", "time", "duration", "email", "hostname"),
    *("ipv4", "ipv6", "uri", "uri-reference", "uuid"),
)
_WORD = re.compile(r"[^\s,\[\]{}()]+")


UNREADABLE = cast("JsonValue", object())  # compare by identity: it differs from every value, including null


def json_type(value: JsonValue) -> str:
    """The JSON schema type of this value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, float):
        return "number"
    return {int: "integer", str: "string", list: "array", dict: "object"}[type(value)]


def quoted(value: JsonValue) -> str:
    """The value in a sentence."""
    return cut(json.dumps(value, ensure_ascii=False), MAX_QUOTE)


def decoded(value: JsonValue) -> JsonValue:
    """The value of a JSON object or array in a text, as some tools return it; other texts, such as ids, stay."""
    if not isinstance(value, str) or value[:1] not in ("{", "["):
        return value
    try:
        parsed: JsonValue = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return parsed if is_finite(parsed) else value


def parse_text(value: JsonValue, *kinds: type) -> JsonValue:
    """The value in the text, as JSON or a Python literal, if it has one of these types; else UNREADABLE."""
    for _ in range(_MAX_NESTED_TEXTS):
        if isinstance(value, kinds):
            return value
        if not isinstance(value, str) or len(value) > MAX_TEXT:
            break
        value = _literal(value)
    return value if isinstance(value, kinds) else UNREADABLE


def convert(value: JsonValue, kind: str) -> JsonValue:
    """The value as this type, if there is exactly one way to read it so; else UNREADABLE."""
    read = _READERS.get(kind)
    return read(value) if read else UNREADABLE


def normalized_text(text: str, schema: Mapping[str, JsonValue], where: str) -> str:
    """The text without surrounding spaces and quotes, if it is an id, a formatted text or then an allowed value."""
    stripped = text.strip().strip("'\"").strip()
    if stripped != text and isinstance(allowed := schema.get("enum"), list):
        return stripped if stripped in allowed and text not in allowed else text
    name = re.sub(r"(\[\d+\])+\Z", "", where).rsplit(".", 1)[-1]
    is_id = re.search(r"(^|_)ids?$|Ids?$", name) is not None
    return stripped if stripped and (is_id or schema.get("format") in _FORMATS) else text


def _literal(text: str) -> JsonValue:
    fenced = _FENCE.match(text)
    plain = (fenced[1] if fenced else text).strip()
    value = _read(plain)
    return value if is_bounded(value) else UNREADABLE


def _read(plain: str) -> JsonValue:
    try:
        return cast("JsonValue", json.loads(plain, parse_constant=_refuse_constant))
    except (ValueError, RecursionError):
        pass
    try:
        literal = ast.literal_eval(_pythonic(plain))
        return cast("JsonValue", json.loads(json.dumps(literal, allow_nan=False)))  # tuples as lists; no sets
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return UNREADABLE


def _refuse_constant(name: str) -> JsonValue:
    raise ValueError(f"{name} is no JSON value")


def _pythonic(text: str) -> str:
    """Replace JSON's words in a Python literal: models mix the two."""
    words = {"true": "True", "false": "False", "null": "None"}
    return _OUTSIDE.sub(lambda match: match[1] or words[match[2]], text)


def _text(value: JsonValue) -> JsonValue:
    if isinstance(value, list) and len(value) == 1:
        return _text(value[0])
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, float) and not math.isfinite(value):
        return UNREADABLE
    return UNREADABLE if isinstance(value, bool) or not isinstance(value, int | float) else str(value)


def _number(value: JsonValue) -> JsonValue:
    value = _single(value)
    if isinstance(value, str) and len(value) <= _MAX_DIGITS and _NUMBER.fullmatch(value):
        if not re.search(r"[.eE]", value):
            return int(value)
        return number if math.isfinite(number := float(value)) else UNREADABLE
    return value if json_type(value) in ("integer", "number") else UNREADABLE


def _integer(value: JsonValue) -> JsonValue:
    value = _number(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if value is not UNREADABLE and json_type(value) == "integer" else UNREADABLE


def _boolean(value: JsonValue) -> JsonValue:
    value = _single(value)
    if isinstance(value, bool):
        return value
    return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(
        str(value).strip().lower() if isinstance(value, str | int) else "", UNREADABLE
    )


def _array(value: JsonValue) -> JsonValue:
    if isinstance(value, list):
        return value
    if not isinstance(value, str):
        return UNREADABLE if value is None else [value]
    items = parse_text(value, list)
    if items is not UNREADABLE or not value.strip():
        return items if value.strip() else []
    plain = value.strip()
    plain = plain[1:-1] if _BRACKETS.fullmatch(plain) else plain
    words = [_QUOTED.sub(r"\2", word.strip()) for word in plain.split(",")]
    if len(words) > 1 and not all(_WORD.fullmatch(word) for word in words):
        return UNREADABLE  # prose with a comma in it is not a list of ids
    return cast("JsonValue", words if all(words) else UNREADABLE)


def _object(value: JsonValue) -> JsonValue:
    return parse_text(_single(value), dict)


def _null(value: JsonValue) -> JsonValue:
    return None if isinstance(value, str) and value.strip().lower() in ("", "null", "none") else UNREADABLE


def _single(value: JsonValue) -> JsonValue:
    return value[0] if isinstance(value, list) and len(value) == 1 else value


_READERS: dict[str, Callable[[JsonValue], JsonValue]] = {
    "string": _text,
    "number": _number,
    "integer": _integer,
    "boolean": _boolean,
    "array": _array,
    "object": _object,
    "null": _null,
}
