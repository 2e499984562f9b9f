"""What every request of the gateway works with, and how a request finds its user."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from starlette.requests import HTTPConnection

from services.gateway.auth import Door, Login
from services.gateway.hub import Hub
from services.gateway.limits import Guesses, Requests
from services.gateway.logouts import Logouts
from services.gateway.origins import SAFE, check_host, check_not_forged, check_origin
from services.gateway.ports import Core
from services.gateway.readiness import Readiness
from services.gateway.tickets import Tickets
from services.gateway.users import User
from shared.protocol.server import Greeting
from shared.settings import Settings


@dataclass(frozen=True)
class Gateway:
    """One process's wiring; it lives in `app.state.gateway`."""

    settings: Settings
    core: Core
    hub: Hub
    door: Door
    tickets: Tickets
    requests: Requests
    guesses: Guesses
    logouts: Logouts
    readiness: Readiness
    greeting: Greeting
    page: str  # "ok", or what to do about a page that is missing

    def welcome(self, connection: HTTPConnection) -> Login:
        """The user behind a WebSocket's handshake or a request. Raises Trouble (unauthorized, forbidden, slow_down)."""
        self._expect(connection)
        login = self._recognise(connection)
        self.requests.count(login.user.id)
        return login

    async def welcome_socket(self, connection: HTTPConnection) -> Login:
        """The same for a handshake, which may also show a ticket."""
        ticket = connection.query_params.get("ticket", "")
        if not ticket or self.door.open:
            return self.welcome(connection)
        self._expect(connection)
        said = bearer(connection) or self.cookie(connection)
        login = await self.tickets.redeem(ticket, self._recognise(connection) if said else None)
        self.logouts.check(login)
        self.requests.count(login.user.id)
        return login

    def cookie(self, connection: HTTPConnection) -> str:
        return connection.cookies.get(self.door.cookie(secure=is_secure(connection)), "")

    def _expect(self, connection: HTTPConnection) -> None:
        """The host and the page that it comes from. Raises Trouble(forbidden)."""
        if self.door.open:
            check_host(connection, self.settings.parley_origins)
        check_origin(connection, self.settings.parley_origins)

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


async def gateway(request: Request) -> Gateway:
    found: Gateway = request.app.state.gateway
    return found


async def core(request: Request) -> Core:
    return (await gateway(request)).core


def is_secure(connection: HTTPConnection) -> bool:
    return connection.url.scheme in ("https", "wss")


def authenticate(request: Request) -> Login:
    """Whoever sends this REST request; a change that a browser's cookie allows must come from our own page.

    Raises Trouble (unauthorized, forbidden, slow_down).
    """
    here: Gateway = request.app.state.gateway
    if request.method not in SAFE and not bearer(request):
        by_cookie = bool(here.cookie(request)) and not here.door.open
        check_not_forged(request, here.settings.parley_origins, cookie=by_cookie)
    return here.welcome(request)


async def login(request: Request) -> Login:
    """Whom LoginFirst has let in."""
    known: Login = request.state.login
    return known


async def user(request: Request) -> User:
    return (await login(request)).user


LoggedIn = Annotated[Login, Depends(login)]
Me = Annotated[User, Depends(user)]
Behind = Annotated[Core, Depends(core)]
Here = Annotated[Gateway, Depends(gateway)]
