"""Decodes PostgreSQL dates and times to text, including values that Python cannot represent: 24:00, infinity.

PostgreSQL sends days, or microseconds, since the year 2000.
"""

from collections.abc import Callable
from datetime import date, datetime, time, timedelta, timezone
from typing import Any

_DAY = 86_400_000_000  # microseconds
_BEGIN = date(2000, 1, 1)
_CYCLE = 146_097  # days in 400 years, after which the calendar repeats
_DATE_ENDS = {2**31 - 1: "infinity", -(2**31): "-infinity"}
_TIMESTAMP_ENDS = {2**63 - 1: "infinity", -(2**63): "-infinity"}


def _date(raw: tuple[int]) -> str:
    return _DATE_ENDS.get(raw[0]) or _written(raw[0], "")


def _timestamp(raw: tuple[int], zone: str = "") -> str:
    if raw[0] in _TIMESTAMP_ENDS:
        return _TIMESTAMP_ENDS[raw[0]]
    days, rest = divmod(raw[0], _DAY)
    return _written(days, f"T{_clock(rest)}{zone}")


def _written(days: int, rest: str) -> str:
    """The date as text: shifted into Python's range, with its real year."""
    cycles, day = divmod(days, _CYCLE)
    known = _BEGIN + timedelta(days=day)
    year = known.year + 400 * cycles
    return f"{year if year > 0 else 1 - year:04}-{known:%m-%d}{rest}{' BC' if year <= 0 else ''}"


def _clock(microseconds: int) -> str:
    if microseconds == _DAY:
        return "24:00:00"
    return (datetime.min + timedelta(microseconds=microseconds)).time().isoformat()


def _with_zone(raw: tuple[int, int]) -> str:
    zone = time(tzinfo=timezone(timedelta(seconds=-raw[1]))).isoformat()
    return _clock(raw[0]) + zone.removeprefix("00:00:00")


def _interval(raw: tuple[int, int, int]) -> str:
    """The interval as PostgreSQL writes it: a positive part after a negative one has a sign."""
    months, days, microseconds = raw
    years = abs(months) // 12 * (1 if months > 0 else -1)
    parts = []
    below = False
    for count, name in ((years, "year"), (months - 12 * years, "mon"), (days, "day")):
        if count:
            parts.append(f"{'+' if below and count > 0 else ''}{count} {name}{'' if count == 1 else 's'}")
            below = count < 0
    if microseconds or not parts:
        hours, rest = divmod(abs(microseconds), 3_600_000_000)
        minutes, rest = divmod(rest, 60_000_000)
        clock = f"{hours:02}:{minutes:02}:{rest / 1_000_000:09.6f}".rstrip("0") if rest % 1_000_000 else ""
        sign = "-" if microseconds < 0 else "+" if below else ""
        parts.append(sign + (clock or f"{hours:02}:{minutes:02}:{rest // 1_000_000:02}"))
    return " ".join(parts)


TIME_DECODERS: dict[str, Callable[[Any], str]] = {
    "date": _date,
    "timestamp": _timestamp,
    "timestamptz": lambda raw: _timestamp(raw, "+00:00"),
    "time": lambda raw: _clock(raw[0]),
    "timetz": _with_zone,
    "interval": _interval,
}
