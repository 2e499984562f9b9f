"""The chaos suite records a session's events as its sockets received them, including gaps and repetitions."""

import json
from typing import Any

from chaos.reconnecting_client import SocketRecorder


def record(*frames: tuple[str, dict[str, Any]]) -> list[tuple[int, list[int]]]:
    """For each record: the version after which events should follow, and the received versions."""
    recorder = SocketRecorder("s1")
    for direction, message in frames:
        recorder("sent" if direction == "sent" else "received", json.dumps({"session_id": "s1", **message}))
    return [(item.after, [event["version"] for event in item.events]) for item in recorder.records]


def event(version: int) -> tuple[str, dict[str, Any]]:
    return "received", {"type": "event", "event": {"version": version}}


def resume(after: int) -> tuple[str, dict[str, Any]]:
    return "sent", {"type": "resume", "id": "r", "after": after}


def snapshot(version: int) -> tuple[str, dict[str, Any]]:
    return "received", {"type": "snapshot", "version": version}


GREETING = ("received", {"type": "greeting"})
RESUME_FAILED = ("received", {"type": "error", "code": "unavailable", "reply_to": "r"})


def test_a_record_begins_with_the_first_event_or_after_the_resumed_version() -> None:
    assert record(GREETING, event(1), event(2), GREETING, resume(2), snapshot(4), event(3), event(4)) == [
        (0, [1, 2]),
        (2, [3, 4]),
    ]


def test_gaps_and_repetitions_are_recorded_unchanged() -> None:
    assert record(GREETING, event(1), event(3), event(3), event(2)) == [(0, [1, 3, 3, 2])]


def test_events_before_a_resume_is_answered_or_after_it_failed_are_ignored() -> None:
    frames = (
        GREETING,
        resume(0),
        event(7),
        snapshot(2),
        event(1),
        RESUME_FAILED,
        event(9),
        resume(1),
        snapshot(2),
        event(2),
    )
    assert record(*frames) == [(0, [1]), (1, [2])]


def test_an_unrequested_snapshot_marks_where_live_events_begin() -> None:
    assert record(GREETING, snapshot(4), event(5), resume(0), snapshot(5), event(1)) == [(4, [5]), (0, [1])]
