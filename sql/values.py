"""Rows as JSON, as many as the limits let through."""

import json
import math
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from pydantic import JsonValue

from sql.outcome import Limits, QueryFailed

SAFE = 2**53  # up to which every reader of JSON keeps whole numbers: JavaScript has only doubles
DEEPEST = 64  # lists and objects within each other; those who read results stop between 200 and 1,000


class JsonText(str):
    """A JSON value as the database writes it."""

    __slots__ = ()


class _Inexact(Exception):
    """JSON that would not mean the same once it is read and written again."""


def as_json(value: Any, depth: int = 0) -> JsonValue:  # noqa: PLR0911  one for each kind
    """Any value a driver gives: as the same JSON, or as the text that the database has for it.

    Raises QueryFailed for a value that is nested too deep.
    """
    match value:
        case JsonText():
            return _json(value, depth)
        case None | bool() | str():
            return value
        case int() | float() | Decimal():
            return _number(value)
        case bytes() | bytearray() | memoryview():
            return "0x" + bytes(value).hex()
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return _span(value)
    return _of_parts(value, depth + 1)


def _of_parts(value: Any, depth: int) -> JsonValue:
    """Lists, objects, and what only a driver has: ranges, and rows within rows."""
    if depth > DEEPEST:
        raise QueryFailed("too_large", f"It has values more than {DEEPEST} deep within each other. Select their parts.")
    if isinstance(value, list | tuple | set | frozenset):
        return [as_json(one, depth) for one in value]
    if hasattr(value, "isempty"):
        return _range(value)
    if hasattr(value, "items") and hasattr(value, "keys"):
        return {str(name): as_json(one, depth) for name, one in value.items()}
    return str(value)


def _json(text: JsonText, depth: int) -> JsonValue:
    try:
        value: JsonValue = json.loads(
            text, parse_int=_whole, parse_float=_fraction, parse_constant=_refuse, object_pairs_hook=_object
        )
        _text_that_can_be_sent(value, depth)
    except (_Inexact, RecursionError, ArithmeticError):
        return str(text)
    return value


def _whole(digits: str) -> int:
    if len(digits) > len(str(SAFE)) or abs(value := int(digits)) >= SAFE:
        raise _Inexact
    return value


def _fraction(digits: str) -> float:
    value = float(digits)
    if Decimal(repr(value)) != Decimal(digits):
        raise _Inexact
    return value


def _refuse(_: str) -> JsonValue:
    raise _Inexact


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise _Inexact
    return value


def _text_that_can_be_sent(value: JsonValue, depth: int) -> None:
    """JSON may write half a character, and NUL, which no text of PostgreSQL holds. Raises _Inexact."""
    match value:
        case str() if "\x00" in value or not _is_unicode(value):
            raise _Inexact
        case list() | dict() if depth >= DEEPEST:
            raise _Inexact
        case dict():
            for name, one in value.items():
                _text_that_can_be_sent(name, depth)
                _text_that_can_be_sent(one, depth + 1)
        case list():
            for one in value:
                _text_that_can_be_sent(one, depth + 1)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _number(value: int | float | Decimal) -> JsonValue:
    """The same number, or its digits."""
    if isinstance(value, int):
        return value if abs(value) < SAFE else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if not value.is_finite():
        return str(value).lower()
    if abs(value) < SAFE:
        if value == value.to_integral_value():
            return int(value)
        if Decimal(repr(near := float(value))) == value:
            return near
    return f"{value:f}"


def _range(value: Any) -> str:
    """As PostgreSQL writes it."""
    if value.isempty:
        return "empty"
    ends = ["" if end is None else str(as_json(end)) for end in (value.lower, value.upper)]
    return f"{'[' if value.lower_inc else '('}{ends[0]},{ends[1]}{']' if value.upper_inc else ')'}"


def _span(value: timedelta) -> str:
    """As PostgreSQL writes an interval."""
    sign, value = ("-", -value) if value < timedelta() else ("", value)
    clock = f"{value.seconds // 3600:02}:{value.seconds // 60 % 60:02}:{value.seconds % 60:02}"
    clock += f".{value.microseconds:06}" if value.microseconds else ""
    return f"{sign}{value.days} days {clock}" if value.days else sign + clock


class Gathering:
    """Takes rows until a limit is passed."""

    def __init__(self, limits: Limits) -> None:
        self._limits, self._bytes = limits, 0
        self.rows: list[tuple[JsonValue, ...]] = []
        self.truncated = False

    def full(self, rows: Iterable[Iterable[Any]]) -> bool:
        """Take these; true when no more are wanted. Raises QueryFailed when the first row alone is too large."""
        for raw in rows:
            if len(self.rows) >= self._limits.rows:
                self.truncated = True
                return True
            values = tuple(raw)
            if sum(len(value) for value in values if isinstance(value, str | bytes)) > self._limits.bytes:
                row: tuple[JsonValue, ...] = ()
                self._bytes = self._limits.bytes
            else:
                row = tuple(as_json(value) for value in values)
            self._bytes += len(json.dumps(row, ensure_ascii=False).encode(errors="replace"))
            if self._bytes > self._limits.bytes:
                self.truncated = True
                if not self.rows:
                    raise QueryFailed("too_large", _one_row(self._limits))
                return True
            self.rows.append(row)
        return False


def _one_row(limits: Limits) -> str:
    return f"Its first row alone is larger than the {limits.bytes} bytes that a result may have. Select less of it."
