"""Waiting for the database and the log when they are gone: with growing pauses, and saying so."""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from services.plan_store.database import DatabaseDown
from shared.bus import BusDown
from shared.log import LogDown

log = structlog.get_logger("plan_store")
FIRST, LONGEST = 0.25, 10.0  # seconds
DOWN = (DatabaseDown, LogDown, BusDown)


async def patiently[T](attempt: Callable[[], Awaitable[T]], *, first: float = FIRST) -> T:
    """Try until it is done. Only for what may be done twice."""
    delay = first
    while True:
        try:
            return await attempt()
        except DOWN as error:
            log.warning("waiting", reason=type(error).__name__, error=str(error)[:500], again_in=delay)
            await asyncio.sleep(delay)
            delay = min(delay * 2, LONGEST)
