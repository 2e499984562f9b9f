"""Empty the projected tables and make the same rows again from the log: `python -m services.plan_store.rebuild`."""

import asyncio
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

from sqlalchemy import delete, func, select

from services.plan_store.database import Database, DatabaseDown
from services.plan_store.history import EVERYTHING, StoreLog
from services.plan_store.projection import Projector
from services.plan_store.tables import PROJECTED, journal, parked, sessions, waiting_for_upgrade
from shared.bus import Bus
from shared.bus.log_format import WrongFormat
from shared.environment import keep_files_private
from shared.log import LogDown
from shared.logging import configure_logging
from shared.settings import Settings

PATIENCE = 10
EVERY = 0.5  # seconds between two lines of progress
Progress = Callable[[int, int], None]


class RebuildRefused(Exception):
    """Nothing was changed; the message says why."""


class RebuildReport(NamedTuple):
    sessions: int
    events: int
    parked: int
    waiting_for_upgrade: int
    seconds: float


async def rebuild(settings: Settings, on_progress: Progress) -> RebuildReport:
    """Needs NATS and the database; the services may run, or not. `on_progress(done, of)` counts sessions.

    After an interruption run it again: nothing is lost, it is all in the log; while services run, each session is
    whole again as soon as somebody asks for it.
    Raises RebuildRefused, DatabaseDown, LogDown (also when NATS does not answer within `PATIENCE` seconds).
    """
    database = Database(settings.sql_url)
    bus = Bus(settings, "rebuild")
    try:
        await database.migrate()
        try:
            async with asyncio.timeout(PATIENCE):
                await bus.start()
        except TimeoutError as error:
            raise LogDown("NATS does not answer, or has no log: is NATS_URL right?") from error
        except WrongFormat as error:
            raise RebuildRefused(str(error)) from error
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
        select(func.count()).select_from(waiting_for_upgrade),
    )
    async with database.begin() as tx:
        counts = [await tx.scalar(query) or 0 for query in queries]
    return RebuildReport(counts[0], counts[1], counts[2], counts[3], seconds)


def main() -> int:
    """Progress on standard error, one line of result on standard output; 1 where it could not be done."""
    keep_files_private()
    settings = Settings()
    configure_logging("rebuild", "ERROR")
    told = [0.0]

    def tell(done: int, of: int) -> None:
        if done == of or time.monotonic() - told[0] > EVERY:
            told[0] = time.monotonic()
            sys.stderr.write(f"{done} of {of} sessions\n")

    try:
        report = asyncio.run(rebuild(settings, tell))
    except (RebuildRefused, DatabaseDown, LogDown) as error:
        sys.stderr.write(f"parley rebuild: {error}\n")
        return 1
    counts = f"{report.sessions} sessions, {report.events} events, {report.parked} messages put aside"
    if report.waiting_for_upgrade:
        counts += f", {report.waiting_for_upgrade} sessions that wait for a newer release"
    sys.stdout.write(f"{counts}: made again in {report.seconds:.1f} s\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
