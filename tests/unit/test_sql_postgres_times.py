"""PostgreSQL's dates and times as text, within and beyond Python's range."""

from datetime import UTC, datetime, time, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sql.postgres_times import TIME_DECODERS

DAY = 86_400_000_000
BEGIN = datetime(2000, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("kind", "raw", "text"),
    [
        ("date", (0,), "2000-01-01"),
        ("date", (-730_485,), "0001-01-01 BC"),
        ("date", (6_574_365,), "20000-01-01"),
        ("date", (2**31 - 1,), "infinity"),
        ("date", (-(2**31),), "-infinity"),
        ("timestamp", (DAY + 500_000,), "2000-01-02T00:00:00.5"),
        ("timestamptz", (120_000,), "2000-01-01T00:00:00.12+00:00"),
        ("time", (500_000,), "00:00:00.5"),
        ("time", (10_000_000,), "00:00:10"),
        ("timetz", (500_000, -28_800), "00:00:00.5+08:00"),
        ("interval", (2**31 - 1, 2**31 - 1, 2**63 - 1), "infinity"),
        ("interval", (-(2**31), -(2**31), -(2**63)), "-infinity"),
        ("timestamp", (-730_485 * DAY + 60_000_000,), "0001-01-01T00:01:00 BC"),
        ("timestamptz", (2**63 - 1,), "infinity"),
        ("timestamptz", (-1,), "1999-12-31T23:59:59.999999+00:00"),
        ("time", (DAY,), "24:00:00"),
        ("time", (DAY - 1,), "23:59:59.999999"),
        ("timetz", (DAY, -7200), "24:00:00+02:00"),
        ("timetz", (0, 19_800), "00:00:00-05:30"),
        ("interval", (0, 0, 0), "00:00:00"),
        ("interval", (14, 3, 14_706_500_000), "1 year 2 mons 3 days 04:05:06.5"),
        ("interval", (-1, 1, 60_000_000), "-1 mons +1 day 00:01:00"),
        ("interval", (0, -1, 60_000_000), "-1 days +00:01:00"),
        ("interval", (0, 1, -7_200_000_000), "1 day -02:00:00"),
        ("interval", (-13, 0, 0), "-1 years -1 mons"),
    ],
)
def test_a_time_becomes_text(kind: str, raw: Any, text: str) -> None:
    assert TIME_DECODERS[kind](raw) == text


@given(st.datetimes(timezones=st.just(UTC)))
def test_times_within_pythons_range_are_the_same_in_pythons_iso_format(moment: datetime) -> None:
    microseconds = (moment - BEGIN) // timedelta(microseconds=1)
    assert datetime.fromisoformat(TIME_DECODERS["timestamptz"]((microseconds,))) == moment
    assert datetime.fromisoformat(TIME_DECODERS["timestamp"]((microseconds,))) == moment.replace(tzinfo=None)
    assert TIME_DECODERS["date"]((microseconds // DAY,)) == moment.date().isoformat()
    assert time.fromisoformat(TIME_DECODERS["time"]((microseconds % DAY,))) == moment.time()
