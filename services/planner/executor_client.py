"""Requests to the executor; while it is away the planner waits, and its work stays alive."""

from pydantic import BaseModel

from shared.bus import Bus, BusDown
from shared.retry import retry_while_unavailable

TIMEOUT = 5.0  # seconds


@retry_while_unavailable(BusDown)
async def ask_executor[Reply: BaseModel](bus: Bus, subject: str, request: BaseModel, reply: type[Reply]) -> Reply:
    """The executor's reply, however long it takes."""
    answer = await bus.request(subject, request.model_dump_json().encode(), timeout=TIMEOUT)
    return reply.model_validate_json(answer, extra="allow")  # a newer executor may say more
