"""`parley rebuild`: empty the projected tables and make the same rows again from the log."""

import time
from collections.abc import Callable
from typing import NamedTuple

from sqlalchemy import delete, func, select

from services.plan_store.database import Database
from services.plan_store.history import StoreLog
from services.plan_store.projection import Projector
from services.plan_store.tables import PROJECTED, journal, parked, sessions
from shared.bus import Bus
from shared.settings import Settings

EVERYTHING = 2**62
Progress = Callable[[int, int], None]


class RebuildRefused(Exception):
    """Nothing was changed; the message says why."""


class RebuildReport(NamedTuple):
    sessions: int
    events: int
    parked: int
    seconds: float


async def rebuild(settings: Settings, on_progress: Progress) -> RebuildReport:
    """Needs NATS and the database; the services may run, or not. `on_progress(done, of)` counts sessions.

    Raises RebuildRefused, DatabaseDown, LogDown. After an interruption run it again: nothing is lost, it is all in
    the log; while services run, each session is whole again as soon as somebody asks for it.
    """
    database = Database(settings.sql_url)
    bus = Bus(settings, "rebuild")
    try:
        await database.migrate()
        await bus.start()
        return await rebuild_from(bus.log, database, on_progress)
    finally:
        await bus.stop()
        await database.close()


async def rebuild_from(log: StoreLog, database: Database, on_progress: Progress) -> RebuildReport:
    """No timers are armed or cancelled."""
    began = time.monotonic()
    async with database.alone() as alone:
        if not alone:
            raise RebuildRefused("Another rebuild is under way.")
        ids = await log.session_ids()
        await _empty(database, ids)
        projector = Projector(log, database)
        for done, session_id in enumerate(ids, 1):
            await projector.nudge(session_id, EVERYTHING)
            projector.forget(session_id)
            on_progress(done, len(ids))
    return await _report(database, time.monotonic() - began)


async def _empty(database: Database, ids: list[str]) -> None:
    async with database.begin() as tx:
        if not ids and (known := await tx.scalar(select(func.count()).select_from(sessions))):
            raise RebuildRefused(
                f"The log is empty, but the database knows {known} sessions: is NATS_URL the right one?"
            )
    async with database.begin() as tx:
        for table in reversed(PROJECTED):
            await tx.execute(delete(table))


async def _report(database: Database, seconds: float) -> RebuildReport:
    queries = (
        select(func.count()).select_from(sessions).where(sessions.c.version > 0),
        select(func.count()).select_from(journal),
        select(func.count()).select_from(parked),
    )
    async with database.begin() as tx:
        counts = [await tx.scalar(query) or 0 for query in queries]
    return RebuildReport(counts[0], counts[1], counts[2], seconds)
