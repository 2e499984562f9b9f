"""When schedules are due: once a day, also when the clocks change."""

from datetime import UTC, datetime, time, timedelta, timezone
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley.protocol.templates import Schedule
from shared.domain.kernel.errors import Invalid
from shared.templates.schedules import check_schedule, next_run_after, session_id_of_run

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)
ZONES = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia")


def due_times(schedule: Schedule, first: datetime, number: int) -> list[str]:
    """The next due times after `first`, in ISO format."""
    times = []
    moment = first
    for _ in range(number):
        due = next_run_after(schedule, moment)
        assert due
        times.append(due.isoformat())
        moment = due
    return times


def test_the_time_of_day_stays_the_same_when_the_clocks_change() -> None:
    berlin = Schedule(daily=time(7, 30), zone="Europe/Berlin")
    assert due_times(berlin, datetime(2026, 3, 27, 12, tzinfo=UTC), 3) == [
        "2026-03-28T06:30:00+00:00",
        "2026-03-29T05:30:00+00:00",
        "2026-03-30T05:30:00+00:00",
    ]
    in_the_gap = Schedule(daily=time(2, 30), zone="Europe/Berlin")
    assert due_times(in_the_gap, datetime(2026, 3, 28, 12, tzinfo=UTC), 2) == [
        "2026-03-29T01:30:00+00:00",  # 03:30 local time: 02:30 does not exist on that day
        "2026-03-30T00:30:00+00:00",
    ]
    repeated_hour = due_times(in_the_gap, datetime(2026, 10, 24, 12, tzinfo=UTC), 2)
    assert repeated_hour == ["2026-10-25T00:30:00+00:00", "2026-10-26T01:30:00+00:00"]


@given(st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)), st.times(), st.sampled_from(ZONES))
def test_a_daily_schedule_is_due_once_a_day(moment: datetime, at: time, zone: str) -> None:
    schedule = Schedule(daily=at, zone=zone)
    runs = [datetime.fromisoformat(item) for item in due_times(schedule, moment.replace(tzinfo=UTC), 5)]
    assert runs[0] > moment.replace(tzinfo=UTC)
    assert all(timedelta(hours=22) < later - earlier < timedelta(hours=26) for earlier, later in pairwise(runs))


def test_each_run_has_its_own_session_id() -> None:
    ids = {session_id_of_run(seed, NOON + timedelta(days=day)) for seed in "ab" for day in range(3)}
    assert len(ids) == 6
    assert session_id_of_run("a", NOON) == session_id_of_run("a", NOON.astimezone(timezone(timedelta(hours=2))))


@pytest.mark.parametrize(
    ("schedule", "reason"),
    [
        (Schedule(), "either daily"),
        (Schedule(daily=time(1), once=NOON + timedelta(days=1)), "either daily"),
        (Schedule(daily=time(1, tzinfo=UTC)), "without an offset"),
        (Schedule(daily=time(1), zone="Mars/Olympus"), "no time zone Mars/Olympus"),
        (Schedule(daily=time(1), zone="../x"), "no time zone"),
        (Schedule(once=NOON), "in the future"),
        (Schedule(once=NOON + timedelta(days=400)), "within a year"),
    ],
)
def test_an_invalid_schedule_is_refused(schedule: Schedule, reason: str) -> None:
    with pytest.raises(Invalid, match=reason):
        check_schedule(schedule, NOON)
    assert schedule.daily is None or schedule.zone == "UTC" or next_run_after(schedule, NOON) is None
