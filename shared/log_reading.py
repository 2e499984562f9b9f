"""Reads a stored message: as the session's next event, as none, or as an event of a newer release."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from pydantic import ValidationError

from parley.events import SessionEvent, envelope, parse_event
from parley.events.envelope import Head, is_newer, read_head
from parley.events.problems import problem_sentences
from shared.domain.kernel.session import Session
from shared.domain.rules.admissible import admit

EXPECTED_SEQUENCE = "Nats-Expected-Last-Subject-Sequence"
EXPECTED_SEQUENCE_SUBJECT = "Nats-Expected-Last-Subject-Sequence-Subject"


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
    """A newer release has continued the session, so this release can neither fold it further nor decide commands.

    `position` is that of the event that it cannot fold, 0 if unknown; `needs` is the event's.
    """

    code = "upgrade_needed"

    def __init__(self, session_id: str, *, position: int = 0, needs: int = 1) -> None:
        super().__init__(f"A newer release of Parley has continued session {session_id}: upgrade this one.")
        self.session_id, self.position, self.needs = session_id, position, needs


def follows(message: StoredMessage, position: int) -> bool:
    """Whether the message was appended with a guard on this position.

    A single server enforces the guard. A cluster may have stored a conflicting message nevertheless.
    """
    return expected_headers(message.subject.split(".")[1], position).items() <= message.headers.items()


def expected_headers(session_id: str, after: int) -> dict[str, str]:
    return {EXPECTED_SEQUENCE: str(after), EXPECTED_SEQUENCE_SUBJECT: f"session.{session_id}.>"}


def accept(loaded: SessionAtPosition, message: StoredMessage) -> tuple[SessionAtPosition, SessionEvent | None, str]:
    """Folds one stored message: the session after it, its event, and why the message is not an event ("" if it is).

    A message that is not an event of the session only moves the position, so it never blocks the session. The due
    service in the subject is not checked. Raises UpgradeNeeded if only a newer release can fold the session's next
    event.
    """
    skipped = SessionAtPosition(loaded.session, message.position)
    try:
        event = parse_event(message.data)
    except ValidationError as error:
        _require_foldable(loaded, message, read_head(message.data))
        return skipped, None, _check_guard(loaded, message) or _unreadable_reason(error)
    _require_foldable(loaded, message, event)
    if reason := _check_guard(loaded, message) or _check_subject(loaded.session, message.subject, event):
        return skipped, None, reason
    after, reason = admit(loaded.session, event)
    return (skipped, None, reason) if reason else (SessionAtPosition(after, message.position), event, "")


def _require_foldable(loaded: SessionAtPosition, message: StoredMessage, head: SessionEvent | Head | None) -> None:
    """Raises UpgradeNeeded if the message is the session's next event and this release cannot fold it.

    The first message of a session may follow any position and have any version: an archive may begin with a later one.
    """
    if (
        head is None
        or not is_newer(head)
        or not _is_about(message.subject, head)
        or head.session_id != loaded.session.id
    ):
        return
    next_version = head.version == loaded.session.version + 1
    if loaded.position == 0 or (next_version and message.headers.get(EXPECTED_SEQUENCE) == str(loaded.position)):
        raise UpgradeNeeded(loaded.session.id, position=message.position, needs=head.needs)


def _check_guard(loaded: SessionAtPosition, message: StoredMessage) -> str:
    """Why the message's guard does not match; "" if it does. A session's first message needs no guard."""
    expected = message.headers.get(EXPECTED_SEQUENCE)
    if expected is None and loaded.position:
        return "unguarded: it does not say which position it follows"
    if expected is not None and expected != str(loaded.position):
        return f"it follows position {expected}, but the session was at {loaded.position}"
    return ""


def _unreadable_reason(error: ValidationError) -> str:
    return f"unreadable: {problem_sentences(error.errors())}"[:500]


def _is_about(subject: str, head: SessionEvent | Head) -> bool:
    """Whether the subject names this session and event type, with any due service."""
    _, session_id, _, kind = (*subject.split(".", 3), "", "", "")[:4]
    return session_id == head.session_id and kind == head.type


def require_readable(session: Mapping[str, Any]) -> None:
    """Raises UpgradeNeeded if only a newer release can read this session, given as JSON data."""
    if (needs := session.get("needs", 1)) > envelope.FORMAT:
        raise UpgradeNeeded(str(session.get("id")), needs=needs)


def _check_subject(session: Session, subject: str, event: SessionEvent) -> str:
    if event.session_id != session.id:
        return f"it is of session {event.session_id}"
    if not _is_about(subject, event):
        return f"wrong subject: it belongs on session.{session.id}.*.{event.type}"
    if event.version != session.version + 1:
        return f"version {event.version} after version {session.version}"
    return ""
