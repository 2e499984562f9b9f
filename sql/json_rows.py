"""Converts rows to JSON, within the limits."""

import json
import math
import struct
from collections.abc import Iterable
from ctypes import c_float
from decimal import Decimal
from typing import Any

from pydantic import JsonValue

from sql.outcome import QueryFailed, QueryLimits

MAX_SAFE_INTEGER = 2**53  # larger integers lose precision in JavaScript, which has only doubles
MAX_DEPTH = 64  # nested lists and objects; JSON parsers stop between 200 and 1,000


class JsonText(str):
    """A JSON value as text from the database."""

    __slots__ = ()


class _Inexact(Exception):
    """The JSON would change if it were parsed and written again."""


def as_json(value: Any, depth: int = 0) -> JsonValue:
    """A driver's value as exact JSON, or as the database's text for it.

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
    return _of_parts(value, depth + 1)


def _of_parts(value: Any, depth: int) -> JsonValue:
    """Lists, objects, and types specific to drivers: ranges and nested rows."""
    if depth > MAX_DEPTH:
        raise QueryFailed(
            "too_large", f"It has values more than {MAX_DEPTH} deep within each other. Select their parts."
        )
    if isinstance(value, list | tuple | set | frozenset):
        return [as_json(item, depth) for item in value]
    if hasattr(value, "isempty"):
        return _range(value)
    if hasattr(value, "items") and hasattr(value, "keys"):
        return {str(name): as_json(item, depth) for name, item in value.items()}
    return str(value)


def _json(text: JsonText, depth: int) -> JsonValue:
    try:
        value: JsonValue = json.loads(
            text, parse_int=_whole, parse_float=_fraction, parse_constant=_raise_inexact, object_pairs_hook=_object
        )
        _check_exact(value, depth)
    except (_Inexact, RecursionError, ArithmeticError):
        return str(text)
    return value


def _whole(digits: str) -> int:
    if len(digits) > len(str(MAX_SAFE_INTEGER)) or abs(value := int(digits)) >= MAX_SAFE_INTEGER:
        raise _Inexact
    return value


def _fraction(digits: str) -> float:
    value = float(digits)
    if Decimal(repr(value)) != Decimal(digits):
        raise _Inexact
    return value


def _raise_inexact(_: str) -> JsonValue:
    raise _Inexact


def _object(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    value = dict(pairs)
    if len(value) < len(pairs):
        raise _Inexact
    return value


def _check_exact(value: JsonValue, depth: int) -> None:
    """Raises _Inexact for lone surrogates, NUL characters and deep nesting, which cannot be stored."""
    match value:
        case str() if "\x00" in value or not _is_unicode(value):
            raise _Inexact
        case list() | dict() if depth >= MAX_DEPTH:
            raise _Inexact
        case dict():
            for name, item in value.items():
                _check_exact(name, depth)
                _check_exact(item, depth + 1)
        case list():
            for item in value:
                _check_exact(item, depth + 1)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _number(value: int | float | Decimal) -> JsonValue:
    """The number, or its digits as text if JSON cannot represent it exactly."""
    if isinstance(value, int):
        return value if abs(value) < MAX_SAFE_INTEGER else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if not value.is_finite():
        return str(value).lower()
    written = f"{value:f}"  # a JSON number would lose the zeros of 12.30
    return int(written) if "." not in written and abs(value) < MAX_SAFE_INTEGER else written


def read_real(raw: bytes) -> float:
    """The four bytes of a `real` as the number with the fewest digits that stands for it, which PostgreSQL shows."""
    (value,) = struct.unpack("!f", raw)
    digits = (float(f"{value:.{count}g}") for count in range(1, 10))
    return next((near for near in digits if c_float(near).value == value), value)


def _range(value: Any) -> str:
    """The range as PostgreSQL writes it."""
    if value.isempty:
        return "empty"
    ends = ["" if end is None else str(as_json(end)) for end in (value.lower, value.upper)]
    return f"{'[' if value.lower_inc else '('}{ends[0]},{ends[1]}{']' if value.upper_inc else ')'}"


class RowCollector:
    """Collects rows until a limit is reached."""

    def __init__(self, limits: QueryLimits) -> None:
        self._limits, self._bytes = limits, 0
        self.rows: list[tuple[JsonValue, ...]] = []
        self.truncated = False

    def add(self, rows: Iterable[Iterable[Any]]) -> bool:
        """Add rows; returns whether the limit is reached. Raises QueryFailed if the first row alone is too large."""
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

    def rows_with_text_in(self, places: Iterable[int]) -> list[tuple[JsonValue, ...]]:
        """The rows, where each of these columns holds either numbers alone or, if one is text, texts alone."""
        mixed = {place for place in places if any(isinstance(row[place], str) for row in self.rows)}
        return [
            tuple(str(cell) if place in mixed and cell is not None else cell for place, cell in enumerate(row))
            for row in self.rows
        ]


def _one_row(limits: QueryLimits) -> str:
    return f"Its first row alone is larger than the {limits.bytes} bytes that a result may have. Select less of it."
