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


def may_read(user: User, session: Session) -> None:
    """Raises Trouble(forbidden) unless it is theirs, shared with them, or not begun yet."""
    if not (_own(user, session) or user.id in session.shared_with):
        raise Trouble("forbidden", "This session belongs to somebody else.", "Ask its owner to share it with you.")


def may_write(user: User, session: Session) -> None:
    """Raises Trouble(forbidden) unless it is theirs, shared with them for acting, or not begun yet."""
    may_read(user, session)
    if not (_own(user, session) or session.shared_with.get(user.id)):
        raise Trouble("forbidden", "This session is shared with you for reading only.", "Fork it to go on from it.")


def _own(user: User, session: Session) -> bool:
    return user.everything or session.version == 0 or session.owner == user.id
