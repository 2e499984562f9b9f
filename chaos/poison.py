"""Messages on a session's subjects that are no events of it: whatever a stranger who reaches the broker could write.

Each carries a header of its own, by which it is known again in the log.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from parley.events import parse_event
from shared.log import StoredMessage, guard

MARK = "Parley-Chaos"


class Message(NamedTuple):
    subject: str
    data: bytes
    headers: Mapping[str, str]


def poison(kind: str, session_id: str, tail: StoredMessage | None) -> Message | None:
    """A message of this kind for the session whose last one is `tail`; None where it takes one and there is none."""
    subject, stop = f"session.{session_id}.planner.message.received", f"session.{session_id}.nobody.session.stopped"
    mark = {MARK: kind}
    anywhere = {
        "no_json": Message(subject, b'{"type": "message.received", ', mark),
        "no_event": Message(subject, b'{"type": "nothing.of.ours", "session_id": 5, "version": "x"}', mark),
        "huge": Message(subject, b"x" * 1_000_000, mark),
        "new_session": Message(f"session.{session_id}-stranger.executor.actions.started", b"\xff\xfe\x00", mark),
    }
    if kind in anywhere or tail is None:
        return anywhere.get(kind)
    follows = mark | guard(session_id, tail.position, f"chaos-{tail.position}")
    there = {
        "copy": Message(tail.subject, tail.data, mark),
        "unguarded_stop": Message(stop, _stop(session_id, tail, 1), mark),
        "guarded_garbage": Message(subject, b"[1, 2", follows),
        "guarded_wrong_version": Message(stop, _stop(session_id, tail, 7), follows),
        "guarded_wrong_subject": Message(stop.replace("stopped", "paused"), _stop(session_id, tail, 1), follows),
        "unguarded_newer": Message(stop, _stop(session_id, tail, 1, needs=99), mark),
    }
    return there[kind]


def _stop(session_id: str, tail: StoredMessage, further: int, *, needs: int = 1) -> bytes:
    """A well-formed `session.stopped`, so many versions after the tail's."""
    try:
        version = parse_event(tail.data).version
    except ValueError:
        version = 1
    body: dict[str, Any] = {
        "type": "session.stopped",
        "id": f"{session_id}:chaos-{tail.position}",
        "session_id": session_id,
        "version": version + further,
        "at": datetime.now(UTC).isoformat(),
        "actor": "user:stranger",
        "needs": needs,
    }
    return json.dumps(body).encode()
