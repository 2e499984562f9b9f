"""What every request of the gateway works with, and how a request finds its user."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from starlette.requests import HTTPConnection

from parley.protocol.server import Greeting
from services.gateway.access.auth import Door, Login
from services.gateway.access.limits import Guesses
from services.gateway.access.logouts import Logouts
from services.gateway.access.metered_log import MeteredLog
from services.gateway.access.origins import SAFE, check_host, check_not_forged, check_origin
from services.gateway.access.quota import Quota, Quotas
from services.gateway.access.tickets import Tickets
from services.gateway.access.users import User
from services.gateway.live.hub import Hub
from services.gateway.ports import Core
from services.gateway.readiness import Readiness
from services.gateway.trouble import Trouble
from shared.settings import Settings


@dataclass(frozen=True)
class Gateway:
    """One process's wiring; it lives in `app.state.gateway`."""

    settings: Settings
    core: Core
    hub: Hub
    door: Door
    tickets: Tickets
    quotas: Quotas
    guesses: Guesses
    logouts: Logouts
    readiness: Readiness
    greeting: Greeting
    page: str  # "ok", or what to do about a page that is missing

    def core_of(self, user: User) -> Core:
        """What is behind the gateway, as this user works with it: what they store counts towards their quota."""
        quota = self.quotas.of(user.id)
        return self.core._replace(log=MeteredLog(self.core.log, quota, self.hub), storing=quota.stores)

    def welcome(self, connection: HTTPConnection) -> Login:
        """The user behind a WebSocket's handshake or a request. Raises Trouble (unauthorized, forbidden, slow_down)."""
        self._expect(connection)
        return self._counted(connection, self._recognise(connection))

    async def welcome_socket(self, connection: HTTPConnection) -> Login:
        """The same for a handshake, which may also show a ticket."""
        ticket = connection.query_params.get("ticket", "")
        if not ticket or self.door.open:
            return self.welcome(connection)
        self._expect(connection)
        said = bearer(connection) or self.cookie(connection)
        login = await self.tickets.redeem(ticket, self._recognise(connection) if said else None)
        self.logouts.check(login)
        return self._counted(connection, login)

    def _counted(self, connection: HTTPConnection, login: Login) -> Login:
        """The user's quota goes with the connection: what is refused or answered counts, too."""
        quota = connection.state.quota = self.quotas.of(login.user.id)
        quota.count()
        return login

    def cookie(self, connection: HTTPConnection) -> str:
        return connection.cookies.get(self.door.cookie(secure=is_secure(connection)), "")

    def _expect(self, connection: HTTPConnection) -> None:
        """The host and the page that it comes from. Raises Trouble(forbidden)."""
        if self.door.open:
            check_host(connection, self.settings.parley_allowed_origins)
        check_origin(connection, self.settings.parley_allowed_origins)

    def _recognise(self, connection: HTTPConnection) -> Login:
        secret = bearer(connection)
        with self.guesses.attempt(connection, secret):
            login = self.door.login(bearer=secret, cookie=self.cookie(connection))
        self.logouts.check(login)
        return login


def bearer(connection: HTTPConnection) -> str:
    """The token of `Authorization: Bearer …`, or ""."""
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def wiring(connection: HTTPConnection) -> Gateway:
    found: Gateway = connection.app.state.gateway
    return found


async def gateway(request: Request) -> Gateway:
    """A coroutine like all that routes depend on: FastAPI runs plain functions in threads, of which there are few."""
    return wiring(request)


def is_secure(connection: HTTPConnection) -> bool:
    return connection.url.scheme in ("https", "wss")


def authenticate(request: Request) -> Login:
    """Whoever sends this REST request; a change that a browser's cookie allows must come from our own page.

    Raises Trouble (unauthorized, forbidden, slow_down).
    """
    here = wiring(request)
    if request.method not in SAFE and not bearer(request):
        by_cookie = bool(here.cookie(request)) and not here.door.open
        check_not_forged(request, here.settings.parley_allowed_origins, cookie=by_cookie)
    return here.welcome(request)


async def login(request: Request) -> Login:
    """Whom LoginFirst has let in."""
    known: Login = request.state.login
    return known


LoggedIn = Annotated[Login, Depends(login)]
Here = Annotated[Gateway, Depends(gateway)]


async def quota(found: LoggedIn, here: Here) -> Quota:
    return here.quotas.of(found.user.id)


async def core(found: LoggedIn, here: Here) -> Core:
    return here.core_of(found.user)


Mine = Annotated[Quota, Depends(quota)]
Behind = Annotated[Core, Depends(core)]


async def user(request: Request, found: LoggedIn, mine: Mine) -> AsyncIterator[User]:
    """Whoever sends this request, in their turn. Raises Trouble where nobody waits for the answer any more."""
    had_to_wait = mine.turns.locked()
    async with mine.turns:
        if had_to_wait and await request.is_disconnected():
            raise Trouble("timed_out", "You have left.")
        yield found.user


async def waiting_user(found: LoggedIn, mine: Mine) -> AsyncIterator[User]:
    """Whoever sends this request, which waits for a session: for long, and so beside the turns of their others."""
    with mine.waiting():
        yield found.user


Me = Annotated[User, Depends(user)]
MeWaiting = Annotated[User, Depends(waiting_user)]
