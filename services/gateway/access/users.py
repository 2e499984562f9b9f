"""Users, and which sessions they may read and change. Pure."""

from typing import NamedTuple

from services.gateway.api_errors import ApiError
from shared.domain.kernel.session import Session
from shared.domain.rules.permissions import SessionRole, role_in


class User(NamedTuple):
    """A user. The operator of a local Parley sees all sessions."""

    id: str
    is_operator: bool = False

    @property
    def scope(self) -> str | None:
        """The owner to filter lists by; None: all sessions."""
        return None if self.is_operator else self.id

    def role_in(self, session: Session) -> SessionRole | None:
        """Their role in the session; None if they may not see it."""
        return role_in(session, self.id, is_operator=self.is_operator)


LOCAL_USER = User("local", is_operator=True)


def session_not_found(session_id: str) -> ApiError:
    """The same error for a session that does not exist and for another user's: it does not reveal which."""
    hint = "Check the id, and whose key you are logged in with; a user_message with an id of your own begins one."
    return ApiError("not_found", f"There is no session {session_id} that you may see.", hint)


def check_can_read(user: User, session: Session) -> None:
    """Raises ApiError(not_found) unless the user has a role in the session."""
    if user.role_in(session) is None:
        raise session_not_found(session.id)


def check_can_write(user: User, session: Session) -> None:
    """Raises ApiError (not_found, forbidden) for a user who may do nothing but read. `decide` checks each command."""
    check_can_read(user, session)
    if user.role_in(session) == "viewer":
        raise ApiError("forbidden", "You may only read this session.", "Fork it to continue from it.")
