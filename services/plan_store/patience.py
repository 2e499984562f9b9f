"""Waiting for the database and the log when they are gone: with growing pauses, and saying so."""

import asyncio
import time
from collections.abc import Awaitable, Callable

import structlog

from services.plan_store.database import DatabaseDown
from shared.bus import BusDown
from shared.log import LogDown

log = structlog.get_logger("plan_store")
FIRST, LONGEST = 0.25, 10.0  # seconds
QUIET = 5.0  # seconds in which many who wait for the same are told once
DOWN = (DatabaseDown, LogDown, BusDown)
_told: dict[str, float] = {}  # when what they wait for was told last


async def patiently[T](attempt: Callable[[], Awaitable[T]], *, first: float = FIRST) -> T:
    """Try until it is done. Only for what may be done twice."""
    delay = first
    while True:
        try:
            return await attempt()
        except DOWN as error:
            _tell(type(error).__name__, str(error)[:500])
            await asyncio.sleep(delay)
            delay = min(delay * 2, LONGEST)


def _tell(reason: str, error: str) -> None:
    now = time.monotonic()
    if now - _told.get(reason, -QUIET) >= QUIET:
        _told[reason] = now
        log.warning("waiting", reason=reason, error=error)
