"""REST: the current user, tickets for sockets, and logout."""

from fastapi import APIRouter, Request, Response

from services.gateway.access.auth import TICKET_SECONDS
from services.gateway.rest.models import AboutMe, Ticket
from services.gateway.rest.requests import ERROR_RESPONSES
from services.gateway.state import GatewayDep, LoginDep, UserDep, is_secure

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES)


@router.get("/me")
async def me(user: UserDep, gateway: GatewayDep) -> AboutMe:
    """The current user, and what this Parley can do."""
    return AboutMe(
        user=user.id,
        everything=user.is_operator,
        auth=gateway.settings.parley_auth,
        model=gateway.greeting.model,
        rehearsal=gateway.greeting.rehearsal,
        can_run_code=gateway.greeting.can_run_code,
        workflows=gateway.greeting.workflows,
    )


@router.post("/tickets", status_code=201)
async def ticket(login: LoginDep, gateway: GatewayDep) -> Ticket:
    """A ticket that opens one socket as `/ws?ticket=…`, at any gateway, within the given seconds.

    For clients that cannot send headers with the handshake, such as browsers.
    """
    return Ticket(ticket=gateway.tickets.issue(login), seconds=TICKET_SECONDS)


@router.post("/logout", status_code=204)
async def logout(login: LoginDep, gateway: GatewayDep, request: Request, response: Response) -> None:
    """End this browser's login at every gateway: its cookie becomes invalid, and its sockets close with 4401."""
    await gateway.logouts.end(login)
    secure = is_secure(request)
    response.delete_cookie(
        gateway.authenticator.cookie_name(secure=secure), secure=secure, httponly=True, samesite="strict"
    )
