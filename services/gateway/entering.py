"""REST: a ticket for a socket."""

from fastapi import APIRouter

from services.gateway.models import Ticket
from services.gateway.reading import REFUSALS
from services.gateway.state import Here, LoggedIn
from services.gateway.tickets import SECONDS

router = APIRouter(prefix="/api", responses=REFUSALS)


@router.post("/tickets", status_code=201)
async def ticket(login: LoggedIn, here: Here) -> Ticket:
    """For one socket, opened as `/ws?ticket=…` at any gateway within these seconds; for clients that cannot send
    headers with a handshake, as browsers cannot."""
    return Ticket(ticket=here.tickets.issue(login), seconds=SECONDS)
