"""Who may see and who may change which session. Pure."""

from typing import NamedTuple

from services.gateway.trouble import Trouble
from shared.domain.session import Session


class User(NamedTuple):
    """Who is asking. `everything`: the single operator of a local Parley, who sees all sessions."""

    id: str
    everything: bool = False

    @property
    def scope(self) -> str | None:
        """Whose sessions lists show; None: everybody's."""
        return None if self.everything else self.id


LOCAL = User("local", everything=True)


def sees(user: User, session: Session) -> bool:
    """Whether it is theirs, shared with them, or not begun yet."""
    return _own(user, session) or user.id in session.shared_with


def missing(session_id: str) -> Trouble:
    """There is none, or it is somebody else's: nobody learns from a refusal which of the two it is."""
    hint = "Check the id, and whose key you are logged in with; a user_message with an id of your own begins one."
    return Trouble("not_found", f"There is no session {session_id} that you may see.", hint)


def may_read(user: User, session: Session) -> None:
    """Raises Trouble(not_found) unless it is theirs, shared with them, or not begun yet."""
    if not sees(user, session):
        raise missing(session.id)


def writes(user: User, session: Session) -> bool:
    """Whether they may act in it: it is theirs, not begun yet, or they are an approver in it.

    To act is also to approve as long as messages are not told apart: an editor only reads.
    """
    return _own(user, session) or session.shared_with.get(user.id) == "approver"


def may_write(user: User, session: Session) -> None:
    """Raises Trouble (not_found, forbidden) unless they may act in it."""
    may_read(user, session)
    if not writes(user, session):
        raise Trouble("forbidden", "You may only read this session.", "Fork it to go on from it.")


def _own(user: User, session: Session) -> bool:
    return user.everything or session.version == 0 or session.owner == user.id
