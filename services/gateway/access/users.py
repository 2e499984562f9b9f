"""Users, and which sessions they may read and change. Pure."""

from typing import NamedTuple

from services.gateway.api_errors import ApiError
from shared.domain.session import Session


class User(NamedTuple):
    """A user. The operator of a local Parley sees all sessions."""

    id: str
    is_operator: bool = False

    @property
    def scope(self) -> str | None:
        """The owner to filter lists by; None: all sessions."""
        return None if self.is_operator else self.id


LOCAL_USER = User("local", is_operator=True)


def can_read(user: User, session: Session) -> bool:
    """Whether the session is theirs, is shared with them, or has no events yet."""
    return _is_own(user, session) or user.id in session.shared_with


def session_not_found(session_id: str) -> ApiError:
    """The same error for a session that does not exist and for another user's: it does not reveal which."""
    hint = "Check the id, and whose key you are logged in with; a user_message with an id of your own begins one."
    return ApiError("not_found", f"There is no session {session_id} that you may see.", hint)


def check_can_read(user: User, session: Session) -> None:
    """Raises ApiError(not_found) unless `can_read`."""
    if not can_read(user, session):
        raise session_not_found(session.id)


def can_write(user: User, session: Session) -> bool:
    """Whether they may act in the session: it is theirs, has no events yet, or they are an approver in it.

    Permission to act includes approving, so an editor may only read.
    """
    return _is_own(user, session) or session.shared_with.get(user.id) == "approver"


def check_can_write(user: User, session: Session) -> None:
    """Raises ApiError (not_found, forbidden) unless `can_write`."""
    check_can_read(user, session)
    if not can_write(user, session):
        raise ApiError("forbidden", "You may only read this session.", "Fork it to continue from it.")


def _is_own(user: User, session: Session) -> bool:
    return user.is_operator or session.version == 0 or session.owner == user.id
