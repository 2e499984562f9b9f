"""The gateway's state and FastAPI dependencies: user, quota and backends of a request."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request
from starlette.requests import HTTPConnection

from parley.events import Due, SessionEvent, dump_event, facts
from parley.protocol.server import Greeting
from services.gateway.access.auth import Authenticator, Login, Tickets
from services.gateway.access.logouts import Logouts
from services.gateway.access.origins import SAFE_METHODS, check_host, check_not_forged, check_origin
from services.gateway.access.quota import LoginThrottle, Quota, Quotas
from services.gateway.access.users import User
from services.gateway.api_errors import ApiError
from services.gateway.live.hub import Hub
from services.gateway.ports import Core
from services.gateway.readiness import ReadinessChecker
from shared.log import ReplicatedLog, StoredMessage
from shared.services import WORKERS
from shared.settings import Settings


class MeteredLog:
    """`append` raises ApiError(slow_down), and stores nothing, when the quota is used up."""

    def __init__(self, log: ReplicatedLog, quota: Quota, hub: Hub) -> None:
        self._log, self._quota, self._hub = log, quota, hub

    @property
    def clustered(self) -> bool:
        return self._log.clustered

    async def append(self, event: SessionEvent, *, after: int, due: Due) -> int:
        if isinstance(event, facts.SessionStopped):  # ending work is never refused
            return await self._log.append(event, after=after, due=due)
        with self._quota.storing(len(dump_event(event))):
            if due not in WORKERS:
                return await self._log.append(event, after=after, due=due)
            with self._quota.working(event.session_id, event.version):
                position = await self._log.append(event, after=after, due=due)
            self._hub.watch(event.session_id, self._quota)
            return position

    async def check_writable(self) -> None:
        await self._log.check_writable()

    async def read(
        self, session_id: str, *, after: int = 0, limit: int = 1000, leader: bool = False
    ) -> list[StoredMessage]:
        return await self._log.read(session_id, after=after, limit=limit, leader=leader)


@dataclass(frozen=True)
class Gateway:
    """The objects of one gateway process, in `app.state.gateway`."""

    settings: Settings
    core: Core
    hub: Hub
    authenticator: Authenticator
    tickets: Tickets
    quotas: Quotas
    login_throttle: LoginThrottle
    logouts: Logouts
    readiness: ReadinessChecker
    greeting: Greeting
    page: str  # "ok", or what to do if the page is missing

    def core_for(self, user: User) -> Core:
        """The backends for this user: what they store counts towards their quota."""
        quota = self.quotas.for_user(user.id)
        return self.core._replace(log=MeteredLog(self.core.log, quota, self.hub), storing=quota.storing)

    def authenticate(self, connection: HTTPConnection) -> Login:
        """The login of a request or handshake. Raises ApiError (unauthorized, forbidden, slow_down)."""
        self._check_source(connection)
        return self._count_request(connection, self._log_in(connection))

    async def authenticate_socket(self, connection: HTTPConnection) -> Login:
        """The login of a handshake, which may also carry a ticket. Raises as `authenticate`."""
        ticket = connection.query_params.get("ticket", "")
        if not ticket or self.authenticator.is_open:
            return self.authenticate(connection)
        self._check_source(connection)
        credentials = bearer_token(connection) or self.cookie(connection)
        login = await self.tickets.redeem(ticket, self._log_in(connection) if credentials else None)
        self.logouts.check(login)
        return self._count_request(connection, login)

    def _count_request(self, connection: HTTPConnection, login: Login) -> Login:
        """Count the request, and attach the user's quota to the connection, which counts responses and refusals."""
        quota = connection.state.quota = self.quotas.for_user(login.user.id)
        quota.count_message()
        return login

    def cookie(self, connection: HTTPConnection) -> str:
        return connection.cookies.get(self.authenticator.cookie_name(secure=is_secure(connection)), "")

    def _check_source(self, connection: HTTPConnection) -> None:
        """Check Host and Origin. Raises ApiError(forbidden)."""
        if self.authenticator.is_open:
            check_host(connection, self.settings.parley_allowed_origins)
        check_origin(connection, self.settings.parley_allowed_origins)

    def _log_in(self, connection: HTTPConnection) -> Login:
        secret = bearer_token(connection)
        with self.login_throttle.attempt(connection, secret):
            login = self.authenticator.login(bearer=secret, cookie=self.cookie(connection))
        self.logouts.check(login)
        return login


def bearer_token(connection: HTTPConnection) -> str:
    """The token of `Authorization: Bearer …`, or ""."""
    scheme, _, token = connection.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def gateway_of(connection: HTTPConnection) -> Gateway:
    gateway: Gateway = connection.app.state.gateway
    return gateway


async def gateway(request: Request) -> Gateway:
    """The gateway. A coroutine like all dependencies: FastAPI would run a plain function in one of its few threads."""
    return gateway_of(request)


def is_secure(connection: HTTPConnection) -> bool:
    return connection.url.scheme in ("https", "wss")


def authenticate(request: Request) -> Login:
    """The login of a REST request; a change authenticated by cookie must come from our own page.

    Raises ApiError (unauthorized, forbidden, slow_down).
    """
    gateway = gateway_of(request)
    if request.method not in SAFE_METHODS and not bearer_token(request):
        by_cookie = bool(gateway.cookie(request)) and not gateway.authenticator.is_open
        check_not_forged(request, gateway.settings.parley_allowed_origins, cookie=by_cookie)
    return gateway.authenticate(request)


async def login(request: Request) -> Login:
    """The login that RequireLogin has found."""
    login: Login = request.state.login
    return login


LoginDep = Annotated[Login, Depends(login)]
GatewayDep = Annotated[Gateway, Depends(gateway)]


async def quota(login: LoginDep, gateway: GatewayDep) -> Quota:
    return gateway.quotas.for_user(login.user.id)


async def core(login: LoginDep, gateway: GatewayDep) -> Core:
    return gateway.core_for(login.user)


QuotaDep = Annotated[Quota, Depends(quota)]
CoreDep = Annotated[Core, Depends(core)]


async def user(request: Request, login: LoginDep, quota: QuotaDep) -> AsyncIterator[User]:
    """The user, once one of their request slots is free. Raises ApiError if the client has disconnected meanwhile."""
    had_to_wait = quota.request_slots.locked()
    async with quota.request_slots:
        if had_to_wait and await request.is_disconnected():
            raise ApiError("timed_out", "The client has disconnected.")
        yield login.user


async def waiting_user(login: LoginDep, quota: QuotaDep) -> AsyncIterator[User]:
    """The user of a request that waits for a session. It may take long, so it takes no request slot."""
    with quota.waiting():
        yield login.user


UserDep = Annotated[User, Depends(user)]
WaitingUserDep = Annotated[User, Depends(waiting_user)]
