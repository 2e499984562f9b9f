"""Metrics of the whole system, counted periodically in the database and at the broker."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Any, get_args

import structlog
from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from services.plan_store.database import ProjectionDatabase
from services.plan_store.operations.dead_letters import dead_letter_counts, parked_count
from services.plan_store.tables import WORKS, sessions
from shared.domain.session import Phase
from shared.services import CONSUMERS, WORKERS
from shared.telemetry import metrics
from shared.unavailable import Unavailable

MIN_PAUSE, MAX_PAUSE = 15.0, 300.0  # seconds between two counts
PAUSE_FACTOR = 100  # times the last count's duration, so that a large database is not read all the time
OTHER = "other"  # any consumer that Parley does not know

log = structlog.get_logger("plan_store")


async def run_counts(database: ProjectionDatabase) -> None:
    """Count until cancelled. Every replica exports the same values: queries take their maximum, not their sum."""
    while True:
        started_at = time.monotonic()
        try:
            await count(database)
        except Unavailable as error:
            log.warning("not_counted", error=str(error)[:500])
        await asyncio.sleep(pause_after(time.monotonic() - started_at))


def pause_after(duration: float) -> float:
    """Seconds to wait after a count that took `duration` seconds."""
    return min(max(MIN_PAUSE, PAUSE_FACTOR * duration), MAX_PAUSE)


async def count(database: ProjectionDatabase) -> None:
    """Set every metric that comes from the database, including zeros. Raises DatabaseUnavailable."""
    oldest: dict[str, datetime] = {}
    async with database.begin() as tx:
        phases = await _as_dict(tx, select(sessions.c.phase, func.count()).group_by(sessions.c.phase))
        dead_letters = await _as_dict(tx, dead_letter_counts())
        parked = await tx.scalar(parked_count()) or 0
        for service, _, since in WORKS:
            query = select(service, func.min(since)).where(since.is_not(None)).group_by(service)
            for name, began in (await _as_dict(tx, query)).items():
                oldest[name] = min(began, oldest.get(name, began))
    for phase in get_args(Phase):
        metrics.SESSIONS.labels(phase).set(phases.get(phase, 0))
    for consumer in CONSUMERS:
        metrics.DEAD_LETTERS.labels(consumer.name).set(dead_letters.pop(consumer.name, 0))
    metrics.DEAD_LETTERS.labels(OTHER).set(sum(dead_letters.values()))
    metrics.PARKED.set(parked)
    for worker in WORKERS:
        age = (datetime.now(UTC) - oldest[worker]).total_seconds() if worker in oldest else 0
        metrics.OLDEST_DUE_WORK.labels(worker).set(max(age, 0))


async def _as_dict(tx: AsyncConnection, query: Select[Any]) -> dict[str, Any]:
    return {row[0]: row[1] for row in await tx.execute(query)}
