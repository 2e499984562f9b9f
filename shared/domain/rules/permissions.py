"""Who may do what to a session: one table for commands and for events read from the log. Pure."""

from typing import Literal

from parley.events import SessionEvent, facts
from parley.events.values import Role
from shared.domain.kernel.actors import OPERATOR, USER_PREFIX
from shared.domain.kernel.session import Session

SessionRole = Role | Literal["owner"]
RANKS: tuple[SessionRole, ...] = ("viewer", "editor", "approver", "owner")
_THEY_AND_ABOVE = {
    "editor": "editors, approvers and the owner",
    "approver": "approvers and the owner",
    "owner": "the owner",
}


def role_in(session: Session, user: str, *, is_operator: bool = False) -> SessionRole | None:
    """The user's role in the session; None if it is not theirs to see. Whoever begins a session is its owner."""
    if session.version == 0 or session.owner == user:
        return "owner"
    return session.shared_with.get(user) or ("owner" if is_operator else None)


def may(role: SessionRole | None, event: SessionEvent) -> bool:
    """Whether a user with this role may append the event to the session.

    A viewer reads. An editor also writes and edits, and can halt what is going on. Everything else decides what runs,
    or lets it run: only an approver and the owner may.
    """
    return role is not None and RANKS.index(role) >= RANKS.index(_least_role(event))


def _least_role(event: SessionEvent) -> SessionRole:
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
    role = role_in(session, user, is_operator=event.actor == OPERATOR)
    if may(role, event):
        return ""
    if role is None:
        return f"{user} has no access to this session"
    article = "a" if role == "viewer" else "an"
    return f"{user} is {article} {role} here; only {_THEY_AND_ABOVE[_least_role(event)]} can do this"
