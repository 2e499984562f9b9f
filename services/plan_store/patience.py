"""Waiting for the database and the log when they are gone."""

from collections.abc import Awaitable, Callable

from services.plan_store.database import DatabaseDown
from shared.bus import BusDown
from shared.log import LogDown
from shared.retry import retry_while_unavailable

DOWN = (DatabaseDown, LogDown, BusDown)


@retry_while_unavailable(*DOWN, first=0.25, longest=10)
async def patiently[T](attempt: Callable[[], Awaitable[T]]) -> T:
    """Try until it is done. Only for what may be done twice."""
    return await attempt()
