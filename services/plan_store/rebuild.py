"""Make the rows of all sessions again from the log: `python -m services.plan_store.rebuild`.

They are made beside those in use, and take their place when all are there.
"""

import asyncio
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from rich.console import Console
from rich.progress import MofNCompleteColumn
from rich.progress import Progress as Bar
from sqlalchemy import func, select

from services.plan_store.database import Database, DatabaseDown
from services.plan_store.history import EVERYTHING, StoreLog
from services.plan_store.projection import Projector
from services.plan_store.refold import PAGE, Refold
from services.plan_store.shadow import Shadow
from services.plan_store.tables import journal, parked_messages, sessions, tombstones, waiting_for_upgrade
from shared.bus import Bus
from shared.bus.log_format import WrongFormat
from shared.environment import keep_files_private
from shared.log import Extent, LogDown
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
    """Needs NATS and the database; the services may run, or not. `on_progress(done, of)` counts messages.

    After an interruption run it again: it goes on where it was.
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
        extent = await log.extent()
        purged = await _purged(database, extent)
        shadow = Shadow(database)
        try:
            position = await shadow.open(extent.created, extent.last)
            async for position in Refold(log, shadow.database, purged).run(position):  # noqa: B020  goes on from there
                on_progress(max(position - extent.first + 1, 0), max(extent.last, position) - extent.first + 1)
            await shadow.swap()
        finally:
            await shadow.database.close()
        await _catch_up(log, database, position)
    return await _report(database, time.monotonic() - began)


async def _purged(database: Database, extent: Extent) -> set[str]:
    """The ids of purged sessions. Raises RebuildRefused where the log is empty and the database is not."""
    async with database.begin() as tx:
        known = await tx.scalar(select(func.count()).select_from(sessions))
        if extent.last < extent.first and known:
            raise RebuildRefused(
                f"The log is empty, but the database knows {known} sessions: is NATS_URL the right one?"
            )
        return set(await tx.scalars(select(tombstones.c.session_id)))


async def _catch_up(log: StoreLog, database: Database, position: int) -> None:
    """Services may have projected more by then: those rows were replaced by older ones."""
    touched: set[str] = set()
    while page := await log.read_all(after=position, limit=PAGE, leader=True):
        touched |= {raw.subject.split(".")[1] for raw in page}
        position = page[-1].position
    projector = Projector(log, database)
    for session_id in sorted(touched):
        await projector.nudge(session_id, EVERYTHING)
        projector.forget(session_id)


async def _report(database: Database, seconds: float) -> RebuildReport:
    queries = (
        select(func.count()).select_from(sessions).where(sessions.c.version > 0),
        select(func.count()).select_from(journal),
        select(func.count()).select_from(parked_messages),
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
    try:
        with progress_shown() as tell:
            report = asyncio.run(rebuild(settings, tell))
    except (RebuildRefused, DatabaseDown, LogDown) as error:
        sys.stderr.write(f"parley rebuild: {error}\n")
        return 1
    counts = f"{report.sessions} sessions, {report.events} events, {report.parked} messages put aside"
    if report.waiting_for_upgrade:
        counts += f", {report.waiting_for_upgrade} sessions that wait for a newer release"
    sys.stdout.write(f"{counts}: made again in {report.seconds:.1f} s\n")
    return 0


@contextmanager
def progress_shown() -> Iterator[Progress]:
    """A bar on a terminal; else a line now and then."""
    if sys.stderr.isatty():
        with Bar(*Bar.get_default_columns(), MofNCompleteColumn(), console=Console(stderr=True)) as bar:
            task = bar.add_task("messages", total=None)
            yield lambda done, of: bar.update(task, completed=done, total=of)
        return
    told = [0.0]

    def tell(done: int, of: int) -> None:
        if done == of or time.monotonic() - told[0] > EVERY:
            told[0] = time.monotonic()
            sys.stderr.write(f"{done} of {of} messages\n")

    yield tell


if __name__ == "__main__":
    sys.exit(main())
