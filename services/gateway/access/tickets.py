"""One-time tickets: a URL that opens one socket, once, within seconds, so that no lasting secret stands in any URL."""

import secrets
from typing import Any

from services.gateway.access.auth import Door, Login
from services.gateway.access.keys import TICKET
from services.gateway.ports import Bus
from services.gateway.trouble import Trouble

SECONDS = 30
HINT = "POST /api/tickets gives a new one."


class Tickets:
    """Any gateway with the same PARLEY_SECRET takes them; which of them was first, the broker knows."""

    def __init__(self, door: Door, bus: Bus) -> None:
        self._door, self._bus = door, bus

    def issue(self, login: Login) -> str:
        """For whoever asks, who has logged in."""
        return self._door.seal(login, TICKET, SECONDS, jti=secrets.token_hex(16), until=login.until)

    async def redeem(self, ticket: str, known: Login | None) -> Login:
        """Whoever asked for it. `known`: who shows it, as far as they say so by other means.

        Raises Trouble(unauthorized), or BusDown: then it may have been used, and another one is needed.
        """
        claims = self._door.unseal(ticket, TICKET)
        if claims is None:
            raise _refused("This ticket is not valid, or not any more.")
        login = self._door.login_of(claims, _until(claims))
        if known is not None and known.user != login.user:
            raise _refused("This ticket was made for somebody else.")
        if not await self._bus.redeem(str(claims["jti"])):
            raise _refused("This ticket has been used.")
        return login


def _until(claims: Any) -> int | None:
    return claims["until"] if isinstance(claims.get("until"), int) else None


def _refused(message: str) -> Trouble:
    return Trouble("unauthorized", message, HINT)
