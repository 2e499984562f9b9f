"""Builds the envelope of an event that a command decides, and checks whose work it is."""

from datetime import datetime
from typing import TypedDict

from parley.events.envelope import Event
from parley.events.values import ModelCall
from shared.domain.kernel.commands import CommandMeta
from shared.domain.kernel.errors import OutOfTurn
from shared.domain.kernel.session import Phase, Session, is_untitled


class EventMeta(TypedDict):
    """The envelope as keyword arguments of an event class, so that type checkers check every constructor call."""

    id: str
    session_id: str
    version: int
    causation_id: str | None
    at: datetime
    actor: str
    usage: tuple[ModelCall, ...]
    read_until: int | None
    names_session: str


def event_id(session: Session, meta: CommandMeta, event_type: str, suffix: str = "") -> str:
    """A deterministic id: deciding the same command again gives the same id, so the log can refuse the duplicate.

    `<session>:<command id>` for a user, `<session>:<work version>:<event type>[:<suffix>]` for a service.
    """
    if meta.id is not None:
        return f"{session.id}:{meta.id}"
    version = meta.work.version if meta.work else session.version
    return ":".join(part for part in (session.id, str(version), event_type, suffix) if part)


def event_meta(session: Session, meta: CommandMeta, event_class: type[Event], suffix: str = "") -> EventMeta:
    """The envelope of the session's next event."""
    return {
        "id": event_id(session, meta, event_class.type_name(), suffix),
        "session_id": session.id,
        "version": session.version + 1,
        "causation_id": meta.cause,
        "at": meta.at,
        "actor": meta.actor,
        "usage": meta.usage,
        "read_until": _read_until(session, meta),
        "names_session": meta.title if is_untitled(session) else "",
    }


def _read_until(session: Session, meta: CommandMeta) -> int | None:
    """The version of the newest message that the work has read although it came after the work was due."""
    due = meta.work.version if meta.work else 0
    return max((said.version for said in session.words.unread if due < said.version <= meta.seen), default=None)


def require_own_work(session: Session, meta: CommandMeta, *phases: Phase) -> None:
    """Raises OutOfTurn unless the worker's work is at hand: that of one of these phases, or any if none is named."""
    if meta.work not in session.works or (phases and meta.work != session.work):
        raise OutOfTurn("The work is no longer yours: it was stopped, done, or given to another worker.")
    if phases and session.phase not in phases:
        raise OutOfTurn(f"This is not allowed while the session is {session.phase}.")
