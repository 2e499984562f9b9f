"""Retries while the database, the log or the bus is unavailable."""

from collections.abc import Awaitable, Callable

from shared.retry import retry_while_unavailable
from shared.unavailable import Unavailable


@retry_while_unavailable(Unavailable, first=0.25, longest=10)
async def run_when_available[T](attempt: Callable[[], Awaitable[T]]) -> T:
    """Run `attempt`, which must be idempotent, until it succeeds."""
    return await attempt()
