"""Crash points: their file format, which appends count, and that each one in the schedule can occur."""

from pathlib import Path
from typing import get_args

import pytest

from chaos.crashing_service import CrashPoint, Side
from chaos.schedule import AMBUSHES, CRASH_POINTS
from parley.events import EVENT_CLASSES, dump_event
from shared.services import SERVICES
from tests.unit.test_chaos_invariants import recorded_session


@pytest.mark.parametrize("point", [CrashPoint(3, "before"), CrashPoint(1, "after", "actions.finished noted")])
def test_a_crash_point_is_read_as_it_was_written(tmp_path: Path, point: CrashPoint) -> None:
    point.arm(tmp_path / "cut")
    assert CrashPoint.read(tmp_path / "cut") == point


def test_a_crash_point_matches_only_events_with_all_its_words() -> None:
    events = [dump_event(event).decode() for event in recorded_session().events[2:5]]
    assert [CrashPoint(1, "before", "actions.finished noted").matches(event) for event in events] == [
        False,
        False,
        True,
    ]
    assert all(CrashPoint(1, "before").matches(event) for event in events)


@pytest.mark.parametrize("target", [*CRASH_POINTS, *AMBUSHES])
def test_every_scheduled_target_names_a_service_and_an_event_type(target: str) -> None:
    service, *rest = target.split()
    assert service.removesuffix("-writes") in SERVICES
    side, event_type = rest[:2] if target in CRASH_POINTS else ("before", rest[0])
    assert side in get_args(Side)
    assert event_type in {event.model_fields["type"].default for event in EVENT_CLASSES}
