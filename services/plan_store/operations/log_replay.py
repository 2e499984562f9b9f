"""Folds all sessions from the whole log, in log order, with thousands of messages per transaction."""

from collections.abc import AsyncIterator, Collection, Sequence
from functools import partial
from operator import attrgetter

import structlog
from cachetools import LRUCache
from sqlalchemy import Connection, RowMapping, select

from services.plan_store.database import DatabaseUnavailable, ProjectionDatabase, upsert_rows
from services.plan_store.operations.shadow_tables import record_progress
from services.plan_store.projection.history import (
    FoldedMessage,
    ProjectedSession,
    StoreLog,
    empty_session,
    fold_message,
    from_row,
    project_message,
)
from services.plan_store.projection.rows import changes_for, quarantine_row
from services.plan_store.projection.unprojected import is_session_id, storable_id
from services.plan_store.projection.writer import CachedSession, SessionWrite, apply
from services.plan_store.tables import parked_messages, sessions, waiting_for_upgrade
from shared.domain.kernel.session import Session
from shared.log import LogUnavailable, SessionAtPosition, StoredMessage, UpgradeNeeded, follows
from shared.retry import retry_while_unavailable

PAGE = 1000  # messages read at once
BATCH_MESSAGES, BATCH_BYTES = 5_000, 16_000_000  # a transaction ends with the page that reaches one of these
CACHE_BYTES = 32_000_000  # bytes of folded sessions
LOG_TIMEOUT = 60.0  # seconds that a log which does not answer is asked again
MAX_IDS = 500  # ids in one query
log = structlog.get_logger("rebuild")


class LogReplay:
    """Processes messages in log order. Its cache is bounded; other sessions are read back from their rows."""

    def __init__(self, source: StoreLog, database: ProjectionDatabase, purged: Collection[str]) -> None:
        self._log = source
        self._database = database
        self._purged = purged
        self._cached: LRUCache[str, ProjectedSession] = LRUCache(maxsize=CACHE_BYTES, getsizeof=attrgetter("size"))
        self._in_batch: dict[str, CachedSession] = {}
        self._quarantined: list[dict[str, object]] = []
        self.failed: set[str] = set()  # sessions whose rows cannot be written
        self._waiting: dict[str, dict[str, object]] = {}  # rows of sessions that a newer release has continued

    async def run(self, position: int) -> AsyncIterator[int]:
        """Fold all messages after `position`; yield each stored position. Raises Unavailable."""
        self._waiting = {row["session_id"]: dict(row) for row in await self._database.run(_waiting_rows)}
        messages, size = 0, 0
        while page := await self._page(position):
            await self._fetch(page)
            for raw in page:
                await self._process(raw)
            position = page[-1].position
            messages, size = messages + len(page), size + sum(len(raw.data) for raw in page)
            if messages >= BATCH_MESSAGES or size >= BATCH_BYTES:
                await self._store(position)
                yield position
                messages, size = 0, 0
        await self._store(position)
        yield position

    @retry_while_unavailable(LogUnavailable, timeout=LOG_TIMEOUT)
    async def _page(self, after: int) -> list[StoredMessage]:
        """The next messages. A replica may lag, so only an empty answer of the leader means the end of the log."""
        page = await self._log.read_all(after=after, limit=PAGE)
        return page or await self._log.read_all(after=after, limit=PAGE, leader=True)

    async def _fetch(self, page: Sequence[StoredMessage]) -> None:
        """Load the sessions of this page that are neither cached nor in the batch."""
        continued = {raw.subject.split(".")[1] for raw in page if not follows(raw, 0)}
        missing = sorted(
            session_id
            for session_id in continued
            if session_id not in self._in_batch and session_id not in self._cached
        )
        for start in range(0, len(missing), MAX_IDS):
            for row in await self._database.run(partial(_rows, missing[start : start + MAX_IDS])):
                if (known := from_row(row)) is None:
                    raise RuntimeError(f"The row of {row['id']} is not what this release has written.")
                self._in_batch[known.session.id] = CachedSession(known)

    async def _process(self, raw: StoredMessage) -> None:
        session_id = raw.subject.split(".")[1]
        if not is_session_id(session_id):
            self._quarantine(raw, session_id, "not the id of a session")
        elif session_id in self._purged:
            self._quarantine(raw, session_id, "the session was purged")
        elif session_id not in self.failed:
            cached = self._in_batch.get(session_id)
            if cached is None:
                cached = self._in_batch[session_id] = CachedSession(
                    self._cached.get(session_id) or empty_session(session_id)
                )
            if raw.position > cached.newest.position:  # else an interrupted rebuild has stored it
                self._fold(cached, raw)

    def _fold(self, cached: CachedSession, raw: StoredMessage) -> None:
        """Fold the message. If only a newer release can, record the position where the session waits for it."""
        if cached.id in self._waiting:
            self._waiting[cached.id]["position"] = raw.position
            return
        try:
            folded = fold_message(cached.newest.loaded, raw)
        except UpgradeNeeded as newer:
            row = {"session_id": cached.id, "position": raw.position, "needs": newer.needs}
            self._waiting[cached.id] = row | {"at": raw.at}
        else:
            cached.advance(project_message(cached.newest, folded), list(changes_for(folded)))

    def _quarantine(self, raw: StoredMessage, session_id: str, reason: str) -> None:
        stored_id = storable_id(session_id)
        empty = SessionAtPosition(Session(stored_id), 0)
        self._quarantined.append(quarantine_row(FoldedMessage(empty, raw, None, reason, empty), stored_id).values)

    async def _store(self, position: int) -> None:
        writes = [cached.pending_write() for cached in self._in_batch.values() if cached.changes]
        rows, self._quarantined, self._in_batch = self._quarantined, [], {}
        newer = list(self._waiting.values())
        try:
            await self._database.run(partial(_write, writes, rows, newer, position))
        except DatabaseUnavailable:
            raise
        except Exception:
            for write in writes:
                await self._write_one(write)
            await self._database.run(partial(_write, (), rows, newer, position))
        for write in writes:
            if write.cached.id not in self.failed and write.after.size <= CACHE_BYTES:
                self._cached[write.cached.id] = write.after

    async def _write_one(self, write: SessionWrite) -> None:
        """Write one session by itself; one that fails is logged and skipped from then on."""
        try:
            await self._database.run(partial(apply, (write,)))
        except DatabaseUnavailable:
            raise
        except Exception as error:
            self.failed.add(write.cached.id)
            log.error("session_not_rebuilt", session=write.cached.id, error=str(error)[:500])


def _rows(ids: Sequence[str], tx: Connection) -> Sequence[RowMapping]:
    return tx.execute(select(sessions).where(sessions.c.id.in_(ids))).mappings().all()


def _waiting_rows(tx: Connection) -> Sequence[RowMapping]:
    return tx.execute(select(waiting_for_upgrade)).mappings().all()


type Rows = Sequence[dict[str, object]]


def _write(writes: Sequence[SessionWrite], rows: Rows, newer: Rows, position: int, tx: Connection) -> None:
    apply(writes, tx)
    upsert_rows(tx, parked_messages, rows)
    upsert_rows(tx, waiting_for_upgrade, newer)
    record_progress(tx, position)
