"""The envelope of an event that was just decided."""

from collections.abc import Sequence
from datetime import datetime
from typing import TypedDict

from parley.events.envelope import Event
from parley.events.values import ModelCall, Step
from shared.domain.commands import CommandMeta
from shared.domain.session import Session


class EventMeta(TypedDict):
    """The envelope as keyword arguments of an event's class, so that type checkers see every constructor whole."""

    id: str
    session_id: str
    version: int
    causation_id: str | None
    at: datetime
    actor: str
    needs: int
    usage: tuple[ModelCall, ...]


def event_id(session: Session, meta: CommandMeta, event_type: str, suffix: str = "") -> str:
    """The same id whenever the same command is decided again, so that the log can refuse the second event.

    `<session>:<client's command id>` for a person, `<session>:<work version>:<event type>[:<suffix>]` for a service.
    """
    if meta.id is not None:
        return f"{session.id}:{meta.id}"
    version = meta.work.version if meta.work else session.version
    return ":".join(part for part in (session.id, str(version), event_type, suffix) if part)


def event_meta(
    session: Session, meta: CommandMeta, event_class: type[Event], suffix: str = "", *, needs: int = 1
) -> EventMeta:
    """The envelope of the session's next event. `needs`: the format that its readers must know."""
    return {
        "id": event_id(session, meta, event_class.type_name(), suffix),
        "session_id": session.id,
        "version": session.version + 1,
        "causation_id": meta.cause,
        "at": meta.at,
        "actor": meta.actor,
        "needs": needs,
        "usage": meta.usage,
    }


def format_of_steps(steps: Sequence[Step]) -> int:
    """The format that a reader of these steps must know. One that overlooks a fingerprint computes another hash."""
    return 2 if any(step.fingerprint for step in steps) else 1
