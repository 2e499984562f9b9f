"""What plan_store knows of its own health and the log's: `/readyz` and `parley doctor` show the same list.

A database that is ahead of the log, because one of the two was restored from a backup, ends the start.
"""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Protocol, get_args

import structlog
from sqlalchemy import Connection, Select, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from services.plan_store import tables as t
from services.plan_store.database import ProjectionDatabase
from services.plan_store.operations.dead_letters import dead_letter_counts, parked_count
from services.plan_store.operations.rebuild import RebuildRefused, rebuild
from services.plan_store.projection.history import StoreLog
from services.plan_store.queries.sessions import health
from services.plan_store.scheduler.clock import BrokerClock
from services.plan_store.tables import WORKS, sessions
from shared.domain.kernel.session import Phase
from shared.services import CONSUMERS, WORKERS
from shared.settings import Settings
from shared.store_api import Health, HealthReport
from shared.telemetry import metrics
from shared.unavailable import Unavailable

log = structlog.get_logger("plan_store")
MIN_PAUSE, MAX_PAUSE = 15.0, 300.0  # seconds between two counts
PAUSE_FACTOR = 100  # times the last count's duration, so that a large database is not read all the time
ELECTION_TIMEOUT, EXTENT_INTERVAL = 15.0, 0.5  # seconds until a new leader has all messages, and between two looks
OTHER = "other"  # any consumer that Parley does not know


class FillingCancelled(Exception):
    """plan_store stops: the rebuild ends between two pages of the log."""


class ConsumerBacklog(Protocol):
    """The part of the bus that the comparison needs."""

    async def outstanding(self, durable: str) -> int: ...


class StoreHealth:
    """Compares the rows with the log, and the two clocks. `problems` say what is wrong and what to do, by name."""

    def __init__(
        self,
        bus: ConsumerBacklog,
        store_log: StoreLog,
        database: ProjectionDatabase,
        clock: BrokerClock,
        write_problem: Callable[[], str] = str,
    ) -> None:
        """`write_problem`: why rows cannot be written now, "" if they can."""
        self._write_problem = write_problem
        self._bus, self._log, self._database, self._clock = bus, store_log, database, clock
        self._compared: dict[str, str] = {}
        self._was_behind = self._is_filling = self._is_cancelled = False

    async def report(self, _: Health) -> HealthReport:
        """Raises DatabaseUnavailable. Compares again while something is lacking: it may have been brought back."""
        if self._compared and not self._is_filling:
            with suppress(Unavailable):
                await self.check()
        report = await health(self._database)
        now = {"clock": self._clock.problem, "database": self._write_problem()}
        return report.model_copy(update={"problems": self._compared | {name: why for name, why in now.items() if why}})

    async def check(self) -> bool:
        """Compare again, and log what is new. Returns whether the clocks agree. Raises Unavailable."""
        before = self._compared | {"clock": self._clock.problem}
        self._compared = await self._compare()
        for name, problem in (self._compared | {"clock": self._clock.problem}).items():
            if problem and problem != before.get(name):
                log.error("unhealthy", check=name, problem=problem)
        return not self._clock.problem

    async def _compare(self) -> dict[str, str]:
        """What the log or the database lacks. Messages that arrive or are purged meanwhile are not missing."""
        outstanding, first = await self._bus.outstanding("plan_store"), await self._log.count()
        rows, exact = await self._database.run(_counted_messages)
        second = await self._log.count()
        self._clock.observe(second.at)
        lost = rows - max(first.messages, second.messages)
        is_behind = exact and min(first.messages, second.messages) - outstanding > rows
        was_behind, self._was_behind = self._was_behind, is_behind
        if lost > 0:
            return {"log": _LOST.format(count=lost)}
        return {"rows": _BEHIND} if is_behind and was_behind else {}

    async def fill_empty_database(self, settings: Settings) -> None:
        """Make the rows from the log if the database has none of the messages that were projected. Then compare both.

        In a thread of its own: folding the whole log would delay the answers to others. Raises Unavailable.
        """
        stored, outstanding = await self._log.count(), await self._bus.outstanding("plan_store")
        if stored.messages > outstanding and await self._database.run(_is_empty):
            await self._fill(settings, stored.messages)
        await self.check()

    async def _fill(self, settings: Settings, messages: int) -> None:
        self._is_filling = True
        log.warning("database_empty", messages=messages, hint="the log is not: its rows are made again")
        try:
            report = await asyncio.to_thread(asyncio.run, rebuild(settings, self._filling))
            log.info("rows_made", sessions=report.sessions, events=report.events, seconds=round(report.seconds, 1))
        except RebuildRefused as refused:  # another replica makes them
            log.info("rows_not_made", reason=str(refused))
        except asyncio.CancelledError:
            self._is_cancelled = True  # the thread does not notice otherwise, and would keep the process alive
            raise
        finally:
            self._is_filling = False

    def _filling(self, done: int, total: int) -> None:
        """Note the progress; called in the thread. Raises FillingCancelled, after which a later fill goes on there."""
        if self._is_cancelled:
            raise FillingCancelled
        self._compared = {"rows": f"the database was empty: its rows are made from the log, {done} of {total} messages"}


_LOST = (
    "the log has lost {count} messages that the database still has: restore NATS from a backup; `parley rebuild` names "
    "the sessions and changes nothing"
)
_BEHIND = "the database lacks messages of the log, so lists are not complete: run `parley rebuild`"


def _counted_messages(tx: Connection) -> tuple[int, bool]:
    """How many messages have a row, and whether no message may lack one because a newer release has to fold it."""
    purging = select(t.tombstones.c.session_id).where(~t.tombstones.c.log_purged)
    parked = t.parked_messages.c.session_id.not_in(purging)
    queries_ = (
        select(func.count()).select_from(t.journal),
        select(func.count()).select_from(t.parked_messages).where(parked),
    )
    rows = sum(tx.scalar(query) or 0 for query in queries_)
    return rows, tx.scalar(select(t.waiting_for_upgrade.c.session_id).limit(1)) is None


def _is_empty(tx: Connection) -> bool:
    tables = (t.journal, t.parked_messages, t.waiting_for_upgrade, t.tombstones)
    return all(tx.execute(select(*table.primary_key).limit(1)).first() is None for table in tables)


class DatabaseAheadOfLog(Exception):
    """The rows describe messages that the log no longer has, so new messages would be taken for old ones."""


async def check_database_not_ahead(database: ProjectionDatabase, log: StoreLog) -> None:
    """Raises DatabaseAheadOfLog, Unavailable."""
    async with database.begin() as tx:
        newest = max(
            [await tx.scalar(select(func.max(table.c.position))) or 0 for table in (t.journal, t.parked_messages)]
        )
    if newest == 0:
        return  # at the first start there may be no stream yet
    deadline = time.monotonic() + (ELECTION_TIMEOUT if log.clustered else 0)
    while newest > (last := (await log.extent()).last):  # a new leader may not have applied all that was agreed on
        if time.monotonic() >= deadline:
            raise DatabaseAheadOfLog(
                f"The database has messages up to position {newest}, the log only up to {last}: NATS was brought back "
                "from a backup or has lost its newest messages, or NATS_URL or DATABASE_URL is another one's. Bring "
                "back what is missing. If both are right, run `parley rebuild`, which keeps only what the log has, "
                "then start plan_store again."
            )
        await asyncio.sleep(EXTENT_INTERVAL)


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
