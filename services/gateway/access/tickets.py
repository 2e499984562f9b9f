"""One-time tickets: a URL that opens one socket, once, within seconds, so that no URL contains a lasting secret."""

import secrets
from typing import Any

from services.gateway.access.auth import Authenticator, Login
from services.gateway.access.keys import TICKET
from services.gateway.api_errors import ApiError
from services.gateway.ports import GatewayBus

TICKET_SECONDS = 30
HINT = "POST /api/tickets gives a new one."


class Tickets:
    """Any gateway with the same PARLEY_SECRET accepts a ticket. The broker makes sure that only one does."""

    def __init__(self, authenticator: Authenticator, bus: GatewayBus) -> None:
        self._authenticator, self._bus = authenticator, bus

    def issue(self, login: Login) -> str:
        """A new ticket for this login."""
        return self._authenticator.sign_claims(
            login, TICKET, TICKET_SECONDS, jti=secrets.token_hex(16), until=login.expires_at
        )

    async def redeem(self, ticket: str, other_login: Login | None) -> Login:
        """The login that the ticket was issued to. `other_login`: that of the request's own credentials, if any.

        Raises ApiError(unauthorized), or BusUnavailable: then it may have been used, and another one is needed.
        """
        claims = self._authenticator.verify_claims(ticket, TICKET)
        if claims is None:
            raise _ticket_error("This ticket is not valid or has expired.")
        login = self._authenticator.login_from_claims(claims, _expiry(claims))
        if other_login is not None and other_login.user != login.user:
            raise _ticket_error("This ticket was issued to another user.")
        if not await self._bus.redeem(str(claims["jti"])):
            raise _ticket_error("This ticket has been used.")
        return login


def _expiry(claims: Any) -> int | None:
    return claims["until"] if isinstance(claims.get("until"), int) else None


def _ticket_error(message: str) -> ApiError:
    return ApiError("unauthorized", message, HINT)
