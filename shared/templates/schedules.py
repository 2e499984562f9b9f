"""When a schedule is due. Pure.

A daily time that the change to daylight saving time skips is due an hour later.
"""

import hashlib
from datetime import UTC, datetime, timedelta

from parley.protocol.templates import Schedule
from shared.domain.kernel.errors import Invalid
from shared.time_zones import time_zone

MAX_AHEAD = timedelta(days=366)


def next_run_after(schedule: Schedule, moment: datetime) -> datetime | None:
    """The first time after this moment that the schedule is due, in UTC; None if there is none."""
    if schedule.once is not None:
        once = schedule.once.astimezone(UTC)
        return once if once > moment else None
    if schedule.daily is None:
        return None
    if (zone := time_zone(schedule.zone)) is None:
        return None
    today = moment.astimezone(zone).date()
    days = (today + timedelta(days=number) for number in range(-1, 4))
    times = (datetime.combine(day, schedule.daily.replace(fold=0), zone).astimezone(UTC) for day in days)
    return next((time for time in times if time > moment), None)


def last_due_run(schedule: Schedule, first: datetime, now: datetime) -> datetime:
    """The last time from `first` on that is due by now. Runs missed for days are made up for once."""
    due = first
    while (following := next_run_after(schedule, due)) and following <= now:
        due = following
    return due


def check_schedule(schedule: Schedule, now: datetime) -> None:
    """Raises Invalid for a schedule that is never due."""
    if (schedule.daily is None) == (schedule.once is None):
        raise Invalid("A schedule is either daily at a time, or once at an instant.")
    if schedule.daily is not None and schedule.daily.tzinfo is not None:
        raise Invalid("Say the time of day without an offset; the time zone says where.")
    if time_zone(schedule.zone) is None:
        raise Invalid(f"There is no time zone {schedule.zone} here: name one like Europe/Berlin.")
    if schedule.once is not None and not now < schedule.once <= now + MAX_AHEAD:
        raise Invalid("The instant must be in the future, within a year.")


def session_id_of_run(seed: str, due: datetime) -> str:
    """The id of the session that a run begins. The same for every caller, and unpredictable without the seed."""
    return hashlib.sha256(f"{seed}/{due.astimezone(UTC).isoformat()}".encode()).hexdigest()[:32]
