"""Time zones by the names of the IANA database, as this machine knows them."""

import re
from datetime import datetime, timedelta
from pathlib import Path
from zoneinfo import ZoneInfo

from shared.environment import environment_variable

_NO_NAMES = re.compile(r"localtime|Factory|posix.*|right/.*")  # files beside the zones, which name no place


def time_zone(name: str) -> ZoneInfo | None:
    """The zone of this name; None if this machine does not know it."""
    if _NO_NAMES.fullmatch(name):
        return None
    try:
        return ZoneInfo(name)
    except (ValueError, LookupError, OSError):
        return None


def own_time_zone() -> str | None:
    """The name of this machine's zone, or of its offset in whole hours; None if there is no such name."""
    variable = environment_variable("TZ")  # a name or a file, also behind a colon
    name = "/etc/localtime" if variable is None else variable.removeprefix(":")
    if name.startswith("/"):
        name = str(Path(name).resolve()).partition("/zoneinfo/")[2]
    if name and time_zone(name):
        return name
    hours = (datetime.now().astimezone().utcoffset() or timedelta()) / timedelta(hours=1)
    return f"Etc/GMT{-hours:+.0f}" if hours.is_integer() else None  # these names count to the west


def day_in_words(moment: datetime, name: str) -> str:
    """The day and time at this moment in the zone of this name; without a known one, in this machine's own zone.

    The first sentence has the date alone, the second one the weekday, the time, the zone and its offset: Etc/GMT-2 is
    UTC+02:00.
    """
    zone = time_zone(name) if name else None
    local = moment.astimezone(zone)
    place = f" in the time zone {name}, at" if zone else ""
    return f"Today is {local.date().isoformat()}. It is {local:%A}, {local:%H:%M}{place} UTC{local:%:z}."
