"""Poison messages on a session's subjects, which an outsider with access to the broker could publish.

None is a valid event. Each carries a header by which the suite recognises it in the log.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from parley.events import parse_event
from shared.log import StoredMessage, guard_headers

POISON_HEADER = "Parley-Chaos"


class PoisonMessage(NamedTuple):
    subject: str
    data: bytes
    headers: Mapping[str, str]


def poison_message(kind: str, session_id: str, tail: StoredMessage | None) -> PoisonMessage | None:
    """A message of this kind for a session that ends with `tail`; None if the kind needs a tail and there is none."""
    subject, stop = f"session.{session_id}.planner.message.received", f"session.{session_id}.nobody.session.stopped"
    mark = {POISON_HEADER: kind}
    anywhere = {
        "no_json": PoisonMessage(subject, b'{"type": "message.received", ', mark),
        "no_event": PoisonMessage(subject, b'{"type": "nothing.of.ours", "session_id": 5, "version": "x"}', mark),
        "huge": PoisonMessage(subject, b"x" * 1_000_000, mark),
        "new_session": PoisonMessage(f"session.{session_id}-stranger.executor.actions.started", b"\xff\xfe\x00", mark),
    }
    if kind in anywhere or tail is None:
        return anywhere.get(kind)
    follows = mark | guard_headers(session_id, tail.position, f"chaos-{tail.position}")
    there = {
        "copy": PoisonMessage(tail.subject, tail.data, mark),
        "unguarded_stop": PoisonMessage(stop, _stop(session_id, tail, 1), mark),
        "guarded_garbage": PoisonMessage(subject, b"[1, 2", follows),
        "guarded_wrong_version": PoisonMessage(stop, _stop(session_id, tail, 7), follows),
        "guarded_wrong_subject": PoisonMessage(stop.replace("stopped", "paused"), _stop(session_id, tail, 1), follows),
        "unguarded_newer": PoisonMessage(stop, _stop(session_id, tail, 1, needs=99), mark),
    }
    return there[kind]


def _stop(session_id: str, tail: StoredMessage, further: int, *, needs: int = 1) -> bytes:
    """A well-formed `session.stopped`, `further` versions after the tail's."""
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
