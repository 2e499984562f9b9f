"""What the chaos suite takes down of a session's sockets: in the order of the wire, a gap or a repetition included."""

import json
from typing import Any

from chaos.recorder import Recorder


def recorded(*frames: tuple[str, dict[str, Any]]) -> list[tuple[int, list[int]]]:
    """Of each place of a socket on the session: after which version it should show events, and those it showed."""
    recorder = Recorder("s1")
    for direction, message in frames:
        recorder("sent" if direction == "sent" else "received", json.dumps({"session_id": "s1", **message}))
    return [(shown.after, [event["version"] for event in shown.events]) for shown in recorder.shown]


def event(version: int) -> tuple[str, dict[str, Any]]:
    return "received", {"type": "event", "event": {"version": version}}


def resume(after: int) -> tuple[str, dict[str, Any]]:
    return "sent", {"type": "resume", "id": "r", "after": after}


def snapshot(version: int) -> tuple[str, dict[str, Any]]:
    return "received", {"type": "snapshot", "version": version}


GREETING = ("received", {"type": "greeting"})
NOT_NOW = ("received", {"type": "error", "code": "unavailable", "reply_to": "r"})


def test_a_new_session_is_seen_from_its_first_event_and_a_resumed_one_from_where_it_was() -> None:
    assert recorded(GREETING, event(1), event(2), GREETING, resume(2), snapshot(4), event(3), event(4)) == [
        (0, [1, 2]),
        (2, [3, 4]),
    ]


def test_nothing_is_put_right() -> None:
    assert recorded(GREETING, event(1), event(3), event(3), event(2)) == [(0, [1, 3, 3, 2])]


def test_what_comes_before_a_resume_is_answered_or_after_it_failed_is_not_of_it() -> None:
    frames = (GREETING, resume(0), event(7), snapshot(2), event(1), NOT_NOW, event(9), resume(1), snapshot(2), event(2))
    assert recorded(*frames) == [(0, [1]), (1, [2])]


def test_a_snapshot_that_nobody_asked_for_tells_from_where_the_socket_is_live() -> None:
    assert recorded(GREETING, snapshot(4), event(5), resume(0), snapshot(5), event(1)) == [(4, [5]), (0, [1])]
