"""Rebuilds the rows of all sessions from the log: `python -m services.plan_store.operations.rebuild`.

The rows are built in shadow tables, which replace those in use once they are complete.
"""

import asyncio
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from rich.console import Console
from rich.progress import MofNCompleteColumn
from rich.progress import Progress as Bar
from sqlalchemy import func, select

from services.plan_store.database import DatabaseUnavailable, ProjectionDatabase
from services.plan_store.operations.log_replay import PAGE, LogReplay
from services.plan_store.operations.shadow_tables import MAX_LOST, ShadowTables
from services.plan_store.projection.history import END_OF_LOG, StoreLog
from services.plan_store.projection.projector import Projector
from services.plan_store.tables import journal, parked_messages, sessions, tombstones, waiting_for_upgrade
from shared.bus import Bus
from shared.bus.log_format import WrongFormat
from shared.environment import keep_files_private
from shared.log import LogExtent, LogUnavailable
from shared.logging import configure_logging
from shared.settings import Settings
from shared.unavailable import DAMAGED

CONNECT_TIMEOUT = 10
PROGRESS_INTERVAL = 0.5  # seconds between two lines of progress
MAX_NAMED = 10  # sessions, and positions of each, that a refusal names
Progress = Callable[[int, int], None]


class RebuildRefused(Exception):
    """The rebuild cannot run and has changed nothing; the message says why."""


class RebuildReport(NamedTuple):
    sessions: int
    events: int
    parked: int
    waiting_for_upgrade: int
    seconds: float


async def rebuild(settings: Settings, on_progress: Progress, *, force: bool = False) -> RebuildReport:
    """Rebuild while the services run, or not. Needs NATS and the database. `on_progress(done, of)` counts messages.

    An interrupted rebuild continues when it is run again. A SQLite file that is damaged is kept under another name.
    Raises RebuildRefused, Unavailable (also when NATS does not answer within `CONNECT_TIMEOUT` seconds).
    """
    database = ProjectionDatabase(settings.sql_url)
    bus = Bus(settings, "rebuild")
    try:
        try:
            async with asyncio.timeout(CONNECT_TIMEOUT):
                await bus.start()
        except TimeoutError as error:
            raise LogUnavailable("NATS does not answer, or has no log: is NATS_URL right?") from error
        try:
            await database.migrate()
            return await rebuild_from(bus.log, database, on_progress, force=force)
        except DatabaseUnavailable as error:
            if DAMAGED not in str(error) or not (kept := database.move_aside()):
                raise
            sys.stderr.write(f"{error}\nIt is now {kept}.\n")
        await database.migrate()
        return await rebuild_from(bus.log, database, on_progress, force=force)
    except WrongFormat as error:
        raise RebuildRefused(str(error)) from error
    finally:
        await bus.stop()
        await database.close()


async def rebuild_from(
    log: StoreLog, database: ProjectionDatabase, on_progress: Progress, *, force: bool = False
) -> RebuildReport:
    """Rebuild from this log, without arming or cancelling timers.

    Without `force`, raises RebuildRefused if the log has lost messages that the rows in use still have.
    """
    started_at = time.monotonic()
    async with database.exclusive_lock() as acquired:
        if not acquired:
            raise RebuildRefused("Another rebuild is under way.")
        extent = await log.extent()
        purged = await _purged(database, extent)
        shadow = ShadowTables(database)
        try:
            position = await shadow.open(extent.created, extent.last)
            replay = LogReplay(log, shadow.database, purged)
            async for position in replay.run(position):  # noqa: B020  starts there
                on_progress(max(position - extent.first + 1, 0), max(extent.last, position) - extent.first + 1)
            lost = await shadow.lost_messages(max(extent.last, position))
            if not force and (lost := [message for message in lost if message[0] not in replay.failed]):
                raise RebuildRefused(_loss(lost))
            await shadow.swap()
        finally:
            await shadow.database.close()
        await _catch_up(log, database, position)
    return await _report(database, time.monotonic() - started_at)


def _loss(messages: Sequence[tuple[str, int]]) -> str:
    """What the log has lost, by session, and what to do."""
    positions: dict[str, list[int]] = {}
    for session_id, position in messages:
        positions.setdefault(session_id, []).append(position)
    named = [f"{name} ({_some(of_session)})" for name, of_session in positions.items()]
    count = f"at least {len(messages)}" if len(messages) == MAX_LOST else f"{len(messages)}"
    return (
        f"The log has lost {count} messages that the database still has, by session and position: {_some(named)}. "
        "Restore NATS from a backup. If there is none, `parley rebuild --force` gives these messages up for good. "
        "Nothing was changed."
    )


def _some(items: Sequence[object]) -> str:
    more = len(items) - MAX_NAMED
    return ", ".join(map(str, items[:MAX_NAMED])) + (f" and {more} more" if more > 0 else "")


async def _purged(database: ProjectionDatabase, extent: LogExtent) -> set[str]:
    """The ids of purged sessions. Raises RebuildRefused if the log is empty and the database is not."""
    async with database.begin() as tx:
        session_count = await tx.scalar(select(func.count()).select_from(sessions))
        if extent.last < extent.first and session_count:
            raise RebuildRefused(
                f"The log is empty, but the database knows {session_count} sessions: is NATS_URL the right one?"
            )
        return set(await tx.scalars(select(tombstones.c.session_id)))


async def _catch_up(log: StoreLog, database: ProjectionDatabase, position: int) -> None:
    """Project messages since `position` again: the swap has replaced rows that services had projected meanwhile."""
    session_ids: set[str] = set()
    while page := await log.read_all(after=position, limit=PAGE, leader=True):
        session_ids |= {raw.subject.split(".")[1] for raw in page}
        position = page[-1].position
    projector = Projector(log, database)
    for session_id in sorted(session_ids):
        await projector.project_up_to(session_id, END_OF_LOG)
        projector.forget(session_id)


async def _report(database: ProjectionDatabase, seconds: float) -> RebuildReport:
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
    """Write progress to standard error and one line of result to standard output. Returns the exit code."""
    keep_files_private()
    settings = Settings()
    configure_logging("rebuild", "ERROR")
    try:
        with progress_reporter() as on_progress:
            report = asyncio.run(rebuild(settings, on_progress, force="--force" in sys.argv))
    except (RebuildRefused, DatabaseUnavailable, LogUnavailable) as error:
        sys.stderr.write(f"parley rebuild: {error}\n")
        return 1
    counts = f"{report.sessions} sessions, {report.events} events, {report.parked} messages parked"
    if report.waiting_for_upgrade:
        counts += f", {report.waiting_for_upgrade} sessions that wait for a newer release"
    sys.stdout.write(f"{counts}: made again in {report.seconds:.1f} s\n")
    return 0


@contextmanager
def progress_reporter() -> Iterator[Progress]:
    """Yield a callback that shows progress: a bar on a terminal, otherwise a line every half second."""
    if sys.stderr.isatty():
        with Bar(*Bar.get_default_columns(), MofNCompleteColumn(), console=Console(stderr=True)) as bar:
            task = bar.add_task("messages", total=None)
            yield lambda done, of: bar.update(task, completed=done, total=of)
        return
    written_at = 0.0

    def write_line(done: int, of: int) -> None:
        nonlocal written_at
        if done == of or time.monotonic() - written_at > PROGRESS_INTERVAL:
            written_at = time.monotonic()
            sys.stderr.write(f"{done} of {of} messages\n")

    yield write_line


if __name__ == "__main__":
    sys.exit(main())
