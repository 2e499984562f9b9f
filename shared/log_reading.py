"""How a stored message is read: as the session's next event, as no event of it, or as one for a newer release."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from pydantic import ValidationError

from parley.events import SessionEvent, envelope, parse_event
from parley.events.envelope import Head, is_newer, read_head
from shared.domain.admissible import admit
from shared.domain.session import Session

EXPECTED = "Nats-Expected-Last-Subject-Sequence"
EXPECTED_SUBJECT = "Nats-Expected-Last-Subject-Sequence-Subject"


class StoredMessage(NamedTuple):
    """One stored message. `position` is its sequence in the stream."""

    position: int
    subject: str
    headers: Mapping[str, str]
    data: bytes
    at: datetime


class SessionAtPosition(NamedTuple):
    """A session, and the position of the last message under its subjects, readable or not."""

    session: Session
    position: int


class UpgradeNeeded(Exception):
    """A newer release has continued the session: this one folds no further, and decides nothing.

    `position` is that of the event that it cannot fold, 0 where it is not known; `needs` and `rules` are the event's.
    """

    code = "upgrade_needed"

    def __init__(self, session_id: str, *, position: int = 0, needs: int = 1, rules: int = 1) -> None:
        super().__init__(f"A newer release of Parley has continued session {session_id}: upgrade this one.")
        self.session_id, self.position, self.needs, self.rules = session_id, position, needs, rules


def follows(raw: StoredMessage, position: int) -> bool:
    """Whether the broker was to make sure that the session's last message was at this position. A single server has;
    a cluster may have let one without a guard pass."""
    return expected_headers(raw.subject.split(".")[1], position).items() <= raw.headers.items()


def expected_headers(session_id: str, after: int) -> dict[str, str]:
    return {EXPECTED: str(after), EXPECTED_SUBJECT: f"session.{session_id}.>"}


def accept(loaded: SessionAtPosition, raw: StoredMessage) -> tuple[SessionAtPosition, SessionEvent | None, str]:
    """Fold one stored message: the session after it, its event, or why it is not one ("" when it is).

    What is not an event of the session moves the position alone, so a foreign message never blocks it. Raises
    UpgradeNeeded where the session goes on with what only a newer release can fold. Who is due, as the subject says it,
    is a fact like any other: today's rules do not judge it.
    """
    moved = SessionAtPosition(loaded.session, raw.position)
    try:
        event = parse_event(raw.data)
    except ValidationError as error:
        _stop_at_newer(loaded, raw, read_head(raw.data))
        return moved, None, _unguarded(loaded, raw) or _unreadable(error)
    _stop_at_newer(loaded, raw, event)
    if wrong := _unguarded(loaded, raw) or _out_of_place(loaded.session, raw.subject, event):
        return moved, None, wrong
    after, wrong = admit(loaded.session, event)
    return (moved, None, wrong) if wrong else (SessionAtPosition(after, raw.position), event, "")


def _stop_at_newer(loaded: SessionAtPosition, raw: StoredMessage, head: SessionEvent | Head | None) -> None:
    """Raise UpgradeNeeded for the session's next event, where this release cannot fold it.

    The first message of a session may follow any position, and have any version: an archive begins with a later one.
    """
    if head is None or not is_newer(head) or not _is_about(raw.subject, head) or head.session_id != loaded.session.id:
        return
    next_version = head.version == loaded.session.version + 1
    if loaded.position == 0 or (next_version and raw.headers.get(EXPECTED) == str(loaded.position)):
        raise UpgradeNeeded(
            loaded.session.id, position=raw.position, needs=head.needs, rules=max(head.rules or 1, loaded.session.rules)
        )


def _unguarded(loaded: SessionAtPosition, raw: StoredMessage) -> str:
    """Why the guard does not vouch for the message. The very first one of a session needs none: whoever knows only the
    subject can begin one."""
    expected = raw.headers.get(EXPECTED)
    if expected is None and loaded.position:
        return "unguarded: it does not say which position it follows"
    if expected is not None and expected != str(loaded.position):
        return f"it follows position {expected}, but the session was at {loaded.position}"
    return ""


def _unreadable(error: ValidationError) -> str:
    problems = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'body'}: {e['msg']}" for e in error.errors()[:3])
    return f"unreadable: {problems}"[:500]


def _is_about(subject: str, head: SessionEvent | Head) -> bool:
    """Whether the subject names this session and type; who is due may be anybody."""
    _, session_id, _, kind = (*subject.split(".", 3), "", "", "")[:4]
    return session_id == head.session_id and kind == head.type


def require_readable(session: Mapping[str, Any]) -> None:
    """Raise UpgradeNeeded where a newer release folded this session, given as JSON data, from what only it knows."""
    needs, rules = session.get("needs", 1), session.get("rules", 1)
    if needs > envelope.FORMAT or rules > envelope.RULES:
        raise UpgradeNeeded(str(session.get("id")), needs=needs, rules=rules)


def _out_of_place(session: Session, subject: str, event: SessionEvent) -> str:
    if event.session_id != session.id:
        return f"it is of session {event.session_id}"
    if not _is_about(subject, event):
        return f"wrong subject: it belongs on session.{session.id}.*.{event.type}"
    if event.version != session.version + 1:
        return f"version {event.version} after version {session.version}"
    return ""
