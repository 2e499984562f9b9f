"""REST: who I am here, a ticket for a socket, and the end of a login."""

from fastapi import APIRouter, Request, Response

from services.gateway.access.tickets import SECONDS
from services.gateway.rest.models import AboutMe, Ticket
from services.gateway.rest.refusals import REFUSALS
from services.gateway.state import Here, LoggedIn, Me, is_secure

router = APIRouter(prefix="/api", responses=REFUSALS)


@router.get("/me")
async def me(user: Me, here: Here) -> AboutMe:
    """Who I am here, and what this Parley can do."""
    return AboutMe(
        user=user.id,
        everything=user.everything,
        auth=here.settings.parley_auth,
        model=here.greeting.model,
        rehearsal=here.greeting.rehearsal,
        can_run_code=here.greeting.can_run_code,
        workflows=here.greeting.workflows,
    )


@router.post("/tickets", status_code=201)
async def ticket(login: LoggedIn, here: Here) -> Ticket:
    """For one socket, opened as `/ws?ticket=…` at any gateway within these seconds; for clients that cannot send
    headers with a handshake, as browsers cannot."""
    return Ticket(ticket=here.tickets.issue(login), seconds=SECONDS)


@router.post("/logout", status_code=204)
async def logout(login: LoggedIn, here: Here, request: Request, response: Response) -> None:
    """End this browser's login, at every gateway: its cookie means nothing any more, and its sockets end with 4401."""
    await here.logouts.end(login)
    secure = is_secure(request)
    response.delete_cookie(here.door.cookie(secure=secure), secure=secure, httponly=True, samesite="strict")
