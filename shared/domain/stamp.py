"""The envelope of a decided event. Ids are deterministic: whoever decides twice makes the same event."""

from collections.abc import Sequence
from typing import Any

from parley.events.values import Step
from shared.domain.commands import By
from shared.domain.session import Session


def event_id(session: Session, by: By, kind: str, suffix: str = "") -> str:
    """`<session>:<client command id>`, or `<session>:<work version>:<type>[:<action id>]` for a worker."""
    if by.id is not None:
        return f"{session.id}:{by.id}"
    since = by.work.version if by.work else session.version
    return ":".join(part for part in (session.id, str(since), kind, suffix) if part)


def stamp(session: Session, by: By, kind: str, suffix: str = "") -> dict[str, Any]:
    """Keyword arguments for the event's class."""
    return {
        "id": event_id(session, by, kind, suffix),
        "session_id": session.id,
        "version": session.version + 1,
        "causation_id": by.cause,
        "at": by.at,
        "actor": by.actor,
        "usage": by.usage,
    }


def step_format(steps: Sequence[Step]) -> dict[str, Any]:
    """The format that a reader of these steps must know: one that overlooks a fingerprint computes another hash."""
    return {"needs": 2} if any(step.fingerprint for step in steps) else {}
