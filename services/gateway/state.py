"""What every request of the gateway works with, and how a request finds its user."""

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from starlette.requests import HTTPConnection

from services.gateway.auth import Door
from services.gateway.hub import Hub
from services.gateway.origins import SAFE, check_host, check_not_forged, check_origin
from services.gateway.ports import Core
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
    greeting: Greeting
    page: str  # "ok", or what to do about a page that is missing

    @property
    def nats(self) -> str:
        """Where NATS should be, without credentials."""
        return self.settings.nats_url.rpartition("@")[2]

    def welcome(self, connection: HTTPConnection, *, query_token: str = "") -> User:
        """The user behind a WebSocket's handshake or a request. Raises Trouble(unauthorized or forbidden)."""
        if self.door.open:
            check_host(connection, self.settings.parley_origins)
        check_origin(connection, self.settings.parley_origins)
        return self.door.user(
            bearer=bearer(connection) or query_token, cookie=connection.cookies.get(self.door.cookie, "")
        )


def bearer(connection: HTTPConnection) -> str:
    """The token of `Authorization: Bearer …`, or ""."""
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def gateway(request: Request) -> Gateway:
    found: Gateway = request.app.state.gateway
    return found


def core(request: Request) -> Core:
    return gateway(request).core


def user(request: Request) -> User:
    """Whoever sends this REST request; a change that a browser's cookie allows must come from our own page."""
    here = gateway(request)
    if request.method not in SAFE and not bearer(request):
        by_cookie = here.door.cookie in request.cookies and not here.door.open
        check_not_forged(request, here.settings.parley_origins, cookie=by_cookie)
    return here.welcome(request)


Me = Annotated[User, Depends(user)]
Behind = Annotated[Core, Depends(core)]
Here = Annotated[Gateway, Depends(gateway)]
