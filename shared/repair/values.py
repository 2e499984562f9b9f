"""Values of another kind than the schema's: what a text, a number or a list of one can be read as."""

import ast
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import cast

from pydantic import JsonValue

from shared.repair.bounds import is_bounded

LONGEST = 100_000  # characters of a text that is looked into
_DEEPEST = 3  # how often a text may hold a text
_DIGITS = 400  # characters of a number in a text
_NUMBER = re.compile(r"\s*[-+]?(\d+(\.\d*)?|\.\d+)([eE][-+]?\d+)?\s*")
_FENCE = re.compile(r"\A\s*```[a-zA-Z]*\n(.*?)\n?```\s*\Z", re.DOTALL)
_OUTSIDE = re.compile(  # a quote that is never closed ends with the text: so it is read once
    r"""("(?:\\.|[^"\\])*+"?|'(?:\\.|[^'\\])*+'?)|\b(true|false|null)\b""", re.DOTALL
)
_WORD = re.compile(r"[^\s,\[\]{}()]+")


class _NotRead:
    pass


NOT_READ: JsonValue = cast("JsonValue", _NotRead())  # told from every value, null among them, by identity


def kind_of(value: JsonValue) -> str:
    """JSON schema's name for what this is."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, float):
        return "number"
    return {int: "integer", str: "string", list: "array", dict: "object"}[type(value)]


def parsed(value: JsonValue, *kinds: type) -> JsonValue:
    """What the text holds, read as JSON or as a Python literal, if it is one of these; NOT_READ otherwise."""
    for _ in range(_DEEPEST):
        if isinstance(value, kinds):
            return value
        if not isinstance(value, str) or len(value) > LONGEST:
            break
        value = _literal(value)
    return value if isinstance(value, kinds) else NOT_READ


def as_kind(value: JsonValue, kind: str) -> JsonValue:
    """The value as this kind, where there is just one way to read it so; NOT_READ otherwise."""
    read = _READERS.get(kind)
    return read(value) if read else NOT_READ


def tidied(text: str, schema: Mapping[str, JsonValue], where: str) -> str:
    """Without the blanks and quotes around it, where they cannot be meant: in ids and in texts of a given form."""
    bare = text.strip().strip("'\"").strip()
    name = where.split("[", maxsplit=1)[0].rsplit(".", 1)[-1]
    is_id = re.search(r"(^|_)ids?$|Ids?$", name) is not None
    return bare if bare and (is_id or "enum" in schema or "format" in schema) else text


def _literal(text: str) -> JsonValue:
    fenced = _FENCE.match(text)
    plain = (fenced[1] if fenced else text).strip()
    found = _read(plain)
    return found if is_bounded(found) else NOT_READ


def _read(plain: str) -> JsonValue:
    try:
        return cast("JsonValue", json.loads(plain, parse_constant=_refused))
    except (ValueError, RecursionError):
        pass
    try:
        found = ast.literal_eval(_pythonic(plain))
        return cast("JsonValue", json.loads(json.dumps(found, allow_nan=False)))  # a tuple is a list now, a set refused
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return NOT_READ


def _refused(name: str) -> JsonValue:
    raise ValueError(f"{name} is no JSON value")


def _pythonic(text: str) -> str:
    """JSON's own words in what is otherwise Python: a mixture that models write."""
    words = {"true": "True", "false": "False", "null": "None"}
    return _OUTSIDE.sub(lambda found: found[1] or words[found[2]], text)


def _text(value: JsonValue) -> JsonValue:
    if isinstance(value, list) and len(value) == 1:
        return _text(value[0])
    if isinstance(value, str):
        return value
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, float) and not math.isfinite(value):
        return NOT_READ
    return NOT_READ if isinstance(value, bool) or not isinstance(value, int | float) else str(value)


def _number(value: JsonValue) -> JsonValue:
    value = _single(value)
    if isinstance(value, str) and len(value) <= _DIGITS and _NUMBER.fullmatch(value):
        if not re.search(r"[.eE]", value):
            return int(value)
        return number if math.isfinite(number := float(value)) else NOT_READ
    return value if kind_of(value) in ("integer", "number") else NOT_READ


def _integer(value: JsonValue) -> JsonValue:
    value = _number(value)
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if value is not NOT_READ and kind_of(value) == "integer" else NOT_READ


def _boolean(value: JsonValue) -> JsonValue:
    value = _single(value)
    if isinstance(value, bool):
        return value
    return {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(
        str(value).strip().lower() if isinstance(value, str | int) else "", NOT_READ
    )


def _array(value: JsonValue) -> JsonValue:
    if isinstance(value, list):
        return value
    if not isinstance(value, str):
        return NOT_READ if value is None else [value]
    found = parsed(value, list)
    if found is not NOT_READ or not value.strip():
        return found if value.strip() else []
    words = [word.strip().strip("'\"") for word in value.strip().removeprefix("[").removesuffix("]").split(",")]
    if len(words) > 1 and not all(_WORD.fullmatch(word) for word in words):
        return NOT_READ  # prose with a comma in it is not a list of ids
    return cast("JsonValue", words if all(words) else NOT_READ)


def _object(value: JsonValue) -> JsonValue:
    return parsed(_single(value), dict)


def _null(value: JsonValue) -> JsonValue:
    return None if isinstance(value, str) and value.strip().lower() in ("", "null", "none") else NOT_READ


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
