"""Decodes PostgreSQL dates and times to text, including values that Python cannot represent: 24:00, infinity.

PostgreSQL sends days, or microseconds, since the year 2000. Moments are written in the session's zone, as PostgreSQL
writes them in JSON, so that days are where the database cuts them.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta, timezone, tzinfo
from functools import partial
from typing import Any
from zoneinfo import ZoneInfo

_DAY = 86_400_000_000  # microseconds
_BEGIN = datetime(2000, 1, 1, tzinfo=UTC)
_CYCLE = 146_097  # days in 400 years, after which the calendar repeats
_OLDEST, _NEWEST = -5 * _CYCLE + 366, 20 * _CYCLE - 366  # days that stay in Python's years 1 to 9999 in any zone
_DATE_ENDS = {2**31 - 1: "infinity", -(2**31): "-infinity"}
_TIMESTAMP_ENDS = {2**63 - 1: "infinity", -(2**63): "-infinity"}
_INTERVAL_ENDS = {
    (2**31 - 1, 2**31 - 1, 2**63 - 1): "infinity",
    (-(2**31), -(2**31), -(2**63)): "-infinity",
}

# POSIX counts to the west.
_FIXED_ZONE = re.compile(r"(?:<[^>]+>|[A-Za-z]{3,})(?P<sign>[+-]?)(?P<hours>\d\d?)(?::(?P<minutes>\d\d))?")


def _date(raw: tuple[int]) -> str:
    if raw[0] in _DATE_ENDS:
        return _DATE_ENDS[raw[0]]
    year, day, era = _calendar(raw[0])
    return f"{year}-{day:%m-%d}{era}"


def _timestamp(raw: tuple[int], zone: tzinfo | None = None) -> str:
    if raw[0] in _TIMESTAMP_ENDS:
        return _TIMESTAMP_ENDS[raw[0]]
    days, rest = divmod(raw[0], _DAY)
    year, moment, era = _calendar(days, rest, zone or UTC)
    return f"{year}-{moment:%m-%d}T{_written(moment.time())}{f'{moment:%:z}' if zone else ''}{era}"


def _calendar(days: int, microseconds: int = 0, zone: tzinfo = UTC) -> tuple[str, datetime, str]:
    """The real year, the moment in the zone, and the era. A moment out of Python's range is shifted into it."""
    cycles = 0
    if not _OLDEST < days < _NEWEST:
        cycles = days // _CYCLE - (1 if days > 0 else -4)
    shifted = _BEGIN + timedelta(days=days - cycles * _CYCLE, microseconds=microseconds)
    moment = shifted.astimezone(zone)
    year = moment.year + 400 * cycles
    return f"{year if year > 0 else 1 - year:04}", moment, " BC" if year <= 0 else ""


def _clock(microseconds: int) -> str:
    if microseconds == _DAY:
        return "24:00:00"
    return _written((datetime.min + timedelta(microseconds=microseconds)).time())


def _written(clock: time) -> str:
    """The time as PostgreSQL writes it: without zeros at the end of its fraction."""
    return clock.isoformat().rstrip("0") if clock.microsecond else clock.isoformat()


def _with_zone(raw: tuple[int, int]) -> str:
    zone = time(tzinfo=timezone(timedelta(seconds=-raw[1]))).isoformat()
    return _clock(raw[0]) + zone.removeprefix("00:00:00")


def _interval(raw: tuple[int, int, int]) -> str:
    """The interval as PostgreSQL writes it: a positive part after a negative one has a sign."""
    if raw in _INTERVAL_ENDS:
        return _INTERVAL_ENDS[raw]
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
    "timestamptz": partial(_timestamp, zone=UTC),
    "time": lambda raw: _clock(raw[0]),
    "timetz": _with_zone,
    "interval": _interval,
}


def moment_decoder(zone: str) -> Callable[[Any], str] | None:
    """Writes moments in the zone of this name, or of a fixed offset as in `<+08>-08`; None if Python cannot."""
    try:
        if offset := _FIXED_ZONE.fullmatch(zone):
            east = -timedelta(hours=int(offset["hours"]), minutes=int(offset["minutes"] or 0))
            return partial(_timestamp, zone=timezone(-east if offset["sign"] == "-" else east))
        return partial(_timestamp, zone=ZoneInfo(zone))
    except (LookupError, ValueError, OSError):
        return None
