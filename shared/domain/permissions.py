"""Who may do what to a session: one table for commands and for events read from the log. Pure."""

from typing import Literal

from parley.events import SessionEvent, facts
from parley.events.values import Role
from shared.domain.actors import OPERATOR, USER_PREFIX
from shared.domain.session import Session

Part = Role | Literal["owner"]
RANKS: tuple[Part, ...] = ("viewer", "editor", "approver", "owner")


def part_of(session: Session, user: str, *, is_operator: bool = False) -> Part | None:
    """The user's part in the session; None if it is not theirs to see. Whoever begins a session is its owner."""
    if session.version == 0 or session.owner == user:
        return "owner"
    return session.shared_with.get(user) or ("owner" if is_operator else None)


def may(part: Part | None, event: SessionEvent) -> bool:
    """Whether a user with this part may append the event to the session.

    A viewer reads. An editor also writes and edits, and can halt what is going on. Everything else decides what runs,
    or lets it run: only an approver and the owner may.
    """
    return part is not None and RANKS.index(part) >= RANKS.index(_least_part(event))


def _least_part(event: SessionEvent) -> Part:
    match event:
        case facts.MessageReceived(settings=None, workflow=None) | facts.PlanEdited() | facts.CodeEdited():
            return "editor"
        case facts.SessionRenamed() | facts.SessionStopped() | facts.SessionPaused() | facts.QuestionAsked():
            return "editor"
        case facts.SessionShared():
            return "owner"
        case _:
            return "approver"


def denial(session: Session, event: SessionEvent) -> str:
    """Why the event's actor may not append it to the session; "" for a service, and for a user who may."""
    if not event.actor.startswith(USER_PREFIX):
        return ""
    user = event.actor.removeprefix(USER_PREFIX)
    part = part_of(session, user, is_operator=event.actor == OPERATOR)
    if may(part, event):
        return ""
    role = f"only {'an' if part == 'editor' else 'a'} {part} of" if part else "no user of"
    least = _least_part(event)
    return f"{user} is {role} this session, and this takes {'its owner' if least == 'owner' else f'an {least}'}"
