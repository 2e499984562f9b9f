"""What only database and broker can tell of all processes together, counted now and then for /metrics."""

import asyncio
import time
from datetime import UTC, datetime
from typing import Any, get_args

import structlog
from sqlalchemy import Select, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from services.plan_store.database import Database
from services.plan_store.dead_letters import listed_letters, listed_parked
from services.plan_store.patience import DOWN
from services.plan_store.tables import sessions
from shared.bus import Bus
from shared.domain.session import Phase
from shared.services import CONSUMERS, SERVICES, WORKERS
from shared.telemetry import metrics

EVERY = 15.0  # seconds between two countings
SHARE = 100  # and at least so many times as long as the last one took: a large database is not read all the time
OTHER = "other"  # whatever else consumes the log: anybody may, under any name

log = structlog.get_logger("plan_store")


async def keep_counting(database: Database, bus: Bus) -> None:
    """Until cancelled. Every replica counts the same."""
    while True:
        began = time.monotonic()
        try:
            await count(database)
            await count_exits(bus)
        except DOWN as error:
            log.warning("not_counted", error=str(error)[:500])
        await asyncio.sleep(max(EVERY, SHARE * (time.monotonic() - began)))


async def count(database: Database) -> None:
    """Set all of these figures, also to zero. Raises DatabaseDown."""
    due = select(sessions.c.work_service, func.min(sessions.c.work_since)).where(sessions.c.work_since.is_not(None))
    async with database.begin() as tx:
        phases = await _pairs(tx, select(sessions.c.phase, func.count()).group_by(sessions.c.phase))
        given_up = await _pairs(tx, listed_letters())
        aside = await tx.scalar(listed_parked()) or 0
        oldest = await _pairs(tx, due.group_by(sessions.c.work_service))
    for phase in get_args(Phase):
        metrics.SESSIONS.labels(phase).set(phases.get(phase, 0))
    for consumer in CONSUMERS:
        metrics.DEAD_LETTERS.labels(consumer.name).set(given_up.pop(consumer.name, 0))
    metrics.DEAD_LETTERS.labels(OTHER).set(sum(given_up.values()))
    metrics.PARKED.set(aside)
    for service in WORKERS:
        at = oldest.get(service)
        metrics.OLDEST_DUE_WORK.labels(service).set(max((datetime.now(UTC) - at).total_seconds(), 0) if at else 0)


async def count_exits(bus: Bus) -> None:
    """Set the figure of each service, also to zero. Raises BusDown."""
    exits = await bus.watchdog_exits()
    for service in SERVICES:
        metrics.WATCHDOG_EXITS.labels(service).set(exits.get(service, 0))


async def _pairs(tx: AsyncConnection, query: Select[Any]) -> dict[str, Any]:
    return {row[0]: row[1] for row in await tx.execute(query)}
