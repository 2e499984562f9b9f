"""The person's day: the zone that a message brings, the session's, and what prompts say."""

import time
import zoneinfo
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from parley.protocol.client import CLIENT_MESSAGES
from services.gateway.messages.commands import to_commands
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.domain.transcript.forks import carry_over, session_forked
from shared.time_zones import day_in_words, own_time_zone, time_zone
from tests.unit.domain.spec import given

EVENING = datetime(2026, 11, 25, 19, 0, tzinfo=UTC)


@pytest.fixture
def local(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """Lets a test set TZ and call `time.tzset`."""
    yield monkeypatch
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("zone", "words"),
    [
        (
            "Pacific/Kiritimati",
            "Today is 2026-11-26. It is Thursday, 09:00 in the time zone Pacific/Kiritimati, at UTC+14:00.",
        ),
        (
            "America/New_York",
            "Today is 2026-11-25. It is Wednesday, 14:00 in the time zone America/New_York, at UTC-05:00.",
        ),
        ("Asia/Kolkata", "Today is 2026-11-26. It is Thursday, 00:30 in the time zone Asia/Kolkata, at UTC+05:30."),
        ("Etc/GMT-2", "Today is 2026-11-25. It is Wednesday, 21:00 in the time zone Etc/GMT-2, at UTC+02:00."),
        ("", "Today is 2026-11-26. It is Thursday, 09:00 UTC+14:00."),
        ("Mars/Olympus", "Today is 2026-11-26. It is Thursday, 09:00 UTC+14:00."),
    ],
)
def test_a_day_is_named_with_its_weekday_and_zone(local: pytest.MonkeyPatch, zone: str, words: str) -> None:
    local.setenv("TZ", "Pacific/Kiritimati")
    time.tzset()
    assert day_in_words(EVENING, zone) == words


@pytest.mark.parametrize(
    ("name", "zone"),
    [
        ("Pacific/Kiritimati", "Pacific/Kiritimati"),
        ("EST5EDT", "EST5EDT"),
        ("UTC", "UTC"),
        (":Europe/Berlin", "Europe/Berlin"),
        ("/usr/share/zoneinfo/Asia/Kolkata", "Asia/Kolkata"),
        (":/usr/share/zoneinfo/America/New_York", "America/New_York"),
        ("/nowhere/zoneinfo/Asia/Calcutta", "Asia/Calcutta"),
        ("XYZ-3", "Etc/GMT-3"),
        ("XYZ-5:30", None),
    ],
)
def test_a_terminal_names_its_zone_or_its_offset(local: pytest.MonkeyPatch, name: str, zone: str | None) -> None:
    local.setenv("TZ", name)
    time.tzset()
    assert own_time_zone() == zone


def test_the_services_know_names_that_their_image_lacks() -> None:
    """Browsers send names like Asia/Calcutta, and Debian has them in a package that is not installed."""
    zoneinfo.reset_tzpath(())
    zoneinfo.ZoneInfo.clear_cache()
    try:
        assert time_zone("Asia/Calcutta") is not None
    finally:
        zoneinfo.reset_tzpath()
    assert "\ntzdata==" in (Path(__file__).parents[2] / "requirements.txt").read_text()


@pytest.mark.parametrize(
    "hostile",
    [
        "../../etc/passwd",
        "localtime",
        "posix/Europe/Berlin",
        "right/UTC",
        "Factory",
        "",
        "Nowhere/None",
        "/etc/localtime",
        "x" * 100000,
        "Europe/Berlin\n",
        "Europe/../UTC",
        "tzdata.zi",
        "zone.tab",
        7,
        None,
        ["UTC"],
    ],
)
def test_no_message_is_lost_because_of_its_zone(hostile: object) -> None:
    message = CLIENT_MESSAGES.validate_python({"type": "user_message", "content": "Hello", "time_zone": hostile})
    assert to_commands(message, Session("s"), None) == (c.Say(text="Hello"),)  # type: ignore[arg-type]


def test_a_session_knows_the_newest_zone_and_hands_it_over_to_a_fork() -> None:
    first = given(c.Say(text="A calculator", time_zone="Europe/Berlin"))
    first.when(c.Say(text="Soon", time_zone="Europe/Berlin")).then("message.received", time_zone=None)
    first.when(c.Say(text="Soon")).then("message.received", time_zone=None).leaves(
        "planning", "nobody", time_zone="Europe/Berlin"
    )
    moved = first.when(c.Say(text="Soon", time_zone="Asia/Tokyo")).then("message.received", time_zone="Asia/Tokyo")
    assert moved.session.time_zone == "Asia/Tokyo"
    fork = c.Fork(parent_id="s", parent_version=2, carried=carry_over(moved.session))
    event = given().when(fork).then("session.forked").event
    assert session_forked(event).time_zone == "Asia/Tokyo"  # type: ignore[arg-type]
