"""Requests to the executor. The planner waits while the executor is unavailable, and keeps its work alive."""

from pydantic import BaseModel

from shared.bus import Bus, BusUnavailable
from shared.retry import retry_while_unavailable

TIMEOUT = 5.0  # seconds


@retry_while_unavailable(BusUnavailable)
async def ask_executor[Reply: BaseModel](bus: Bus, subject: str, request: BaseModel, reply: type[Reply]) -> Reply:
    """The executor's reply. Retries without a limit while the executor is unavailable."""
    answer = await bus.request(subject, request.model_dump_json().encode(), timeout=TIMEOUT)
    return reply.model_validate_json(answer, extra="allow")  # a newer executor may send more fields
