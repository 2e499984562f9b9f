"""Rows as JSON, as many as the limits let through."""

import json
import math
from collections.abc import Iterable
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from pydantic import JsonValue

from sql.outcome import Limits, QueryFailed

EXACT = 15  # decimal digits that a float keeps


def as_json(value: Any) -> JsonValue:  # noqa: PLR0911  one for each kind
    """Of any value a driver gives."""
    match value:
        case None | bool() | int() | str():
            return value
        case float():
            return value if math.isfinite(value) else str(value)
        case Decimal():
            return _number(value)
        case bytes() | bytearray() | memoryview():
            return "0x" + bytes(value).hex()
        case datetime() | date() | time():
            return value.isoformat()
        case timedelta():
            return _span(value)
        case dict():
            return {str(name): as_json(one) for name, one in value.items()}
        case list() | tuple() | set() | frozenset():
            return [as_json(one) for one in value]
    return _other(value)


def _number(value: Decimal) -> JsonValue:
    if not value.is_finite():
        return str(value).lower()
    if value == value.to_integral_value() and abs(value) < 2**53:
        return int(value)
    return float(value) if len(value.normalize().as_tuple().digits) <= EXACT else str(value)


def _other(value: Any) -> JsonValue:
    """What only a driver has: ranges, and rows within rows."""
    if hasattr(value, "isempty"):
        return _range(value)
    if hasattr(value, "items") and hasattr(value, "keys"):
        return {str(name): as_json(one) for name, one in value.items()}
    return str(value)


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
