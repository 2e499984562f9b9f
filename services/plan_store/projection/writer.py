"""Writes projected sessions to SQL: one transaction at a time, with every session that has changed by then.

A session's row is updated only if it still has the expected position and digest (optimistic locking). When several
replicas project the same messages, the first commit wins and the others start again from the row.
"""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from functools import partial
from itertools import zip_longest
from typing import NamedTuple

from sqlalchemy import Connection, Table, Update, bindparam, delete, update

from services.plan_store.database import (
    DatabaseUnavailable,
    Delete,
    ProjectionDatabase,
    RowChange,
    RowUpdate,
    Upsert,
    Values,
    count_rows,
    upsert_rows,
)
from services.plan_store.projection import unprojected
from services.plan_store.projection.history import ProjectedSession, row, with_digest
from services.plan_store.tables import journal, parked_messages, sessions, usage
from shared.log import UpgradeNeeded
from shared.telemetry import metrics
from shared.unavailable import database_advice

MAX_BATCH = 200  # sessions in one transaction
BATCH_DELAY = 0.01  # seconds a transaction waits for more sessions, unless a request is waiting for the rows
BATCH_SIZE = 4  # sessions that end this wait early
INSERT_ONLY = (journal, usage)  # rows of these tables never change: those of all sessions are inserted together
OnProjected = Callable[[ProjectedSession, ProjectedSession], Awaitable[None]]


class CachedSession:
    """A session in memory: as stored in its row, as of the newest message, and the row changes in between."""

    def __init__(self, stored: ProjectedSession) -> None:
        self.stored = self.newest = stored
        self.upgrade_needed: UpgradeNeeded | None = None  # set when only a newer release can fold the next message
        self.changes: list[RowChange] = []
        self.is_stale = False  # the row has changed underneath: none of this can be written
        self.write_error: Exception | None = None  # why this session's write failed, when others succeeded
        self.fold_lock = asyncio.Lock()
        self._next_advance: asyncio.Future[None] | None = None  # resolved by the next `advance`

    def advance(self, after: ProjectedSession, changes: Sequence[RowChange]) -> None:
        """Add the result of folding one message."""
        self.newest = after
        self.changes += changes
        if self._next_advance:
            self._next_advance.set_result(None)
            self._next_advance = None

    async def wait_for_position(self, position: int, seconds: float) -> None:
        """Wait up to `seconds` until the session has reached this position."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.newest.position < position:
                    self._next_advance = self._next_advance or asyncio.get_running_loop().create_future()
                    await asyncio.shield(self._next_advance)

    @property
    def id(self) -> str:
        return self.newest.session.id

    def pending_write(self) -> "SessionWrite":
        return SessionWrite(self, self.stored, with_digest(self.newest), tuple(self.changes))


class SessionWrite(NamedTuple):
    """One session's row as it is expected to be and as it becomes, with the changes to its other rows."""

    cached: CachedSession
    before: ProjectedSession
    after: ProjectedSession
    changes: Sequence[RowChange]


class Writer:
    """This process's only writer of projected rows.

    `on_projected` is called with the session before and after, once the change is stored.
    """

    def __init__(self, database: ProjectionDatabase) -> None:
        self.on_projected: OnProjected | None = None
        self.problem = ""  # why the last transaction failed and what to do, without names
        self._database = database
        self._pending: dict[str, CachedSession] = {}
        self._next_batch: asyncio.Future[None] | None = None  # done when the next transaction has ended
        self._current_batch: asyncio.Future[None] | None = None  # done when the running transaction has ended
        self._task: asyncio.Task[None] | None = None
        self._urgent = asyncio.Event()

    async def flush(self, cached: CachedSession, *, is_urgent: bool = False) -> bool:
        """Wait until everything folded so far is stored. False if the session is stale. Raises DatabaseUnavailable.

        `is_urgent`: a request is waiting for the rows, so the transaction starts at once.
        """
        position = cached.newest.position
        while cached.stored.position < position and not cached.is_stale:
            self._pending[cached.id] = cached
            if is_urgent or len(self._pending) >= BATCH_SIZE:
                self._urgent.set()
            if self._next_batch is None:
                self._next_batch = asyncio.get_running_loop().create_future()
            if self._task is None:
                self._task = asyncio.create_task(self._write_batches())
            await asyncio.shield(self._next_batch)
            if cached.write_error:
                cached.is_stale = True  # a retry loads the session from its row
                raise cached.write_error
        return not cached.is_stale

    async def wait_for_transaction(self) -> None:
        """Wait for the running transaction, if there is one."""
        if self._current_batch:
            await asyncio.wait({self._current_batch})

    async def _write_batches(self) -> None:
        while self._next_batch:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._urgent.wait(), BATCH_DELAY)
            self._urgent.clear()
            self._current_batch, self._next_batch = self._next_batch, None
            batch = [
                cached for _, cached in sorted(self._pending.items())
            ]  # sorted, so that two writers never deadlock
            self._pending = {}
            try:
                for start in range(0, len(batch), MAX_BATCH):
                    current = [cached for cached in batch[start : start + MAX_BATCH] if not cached.is_stale]
                    await self._write([cached.pending_write() for cached in current])
            except Exception as error:
                self._current_batch.set_exception(error)
                self._current_batch.exception()  # marks it as retrieved: the waiting caller may be gone
            else:
                self._current_batch.set_result(None)
            self._current_batch = None
        self._task = None

    async def _write(self, writes: Sequence[SessionWrite]) -> None:
        """Write all in one transaction, or each in its own if that fails. Raises DatabaseUnavailable."""
        try:
            await self._database.run(partial(apply, writes))
        except DatabaseUnavailable as error:
            self.problem = database_advice(str(error)) or "the database cannot be written: see plan_store's log"
            raise
        except Exception as error:
            if len(writes) > 1:
                for write in writes:
                    await self._write([write])
            elif isinstance(error, _RowConflict):
                writes[0].cached.is_stale = True
            else:
                writes[0].cached.write_error = error
            return
        self.problem = ""
        for write in writes:
            write.cached.stored = write.after
            del write.cached.changes[: len(write.changes)]
        metrics.EVENTS_REFUSED.inc(sum(_is_parked(change) for write in writes for change in write.changes))
        if self.on_projected:
            await asyncio.gather(*(self.on_projected(write.before, write.after) for write in writes))


def _is_parked(change: RowChange) -> bool:
    return isinstance(change, Upsert) and change.table is parked_messages


# --- in the transaction


class _RowConflict(Exception):
    """At least one row did not have its expected position and digest."""


def apply(writes: Sequence[SessionWrite], tx: Connection) -> None:
    """Write all of them, with one statement for many rows. Raises _RowConflict; the caller then rolls back.

    The rows of `sessions` are written first, so that SQLite never has to upgrade a read lock to a write lock.
    """
    if _claim_rows(tx, writes) != len(writes):
        raise _RowConflict
    for table in INSERT_ONLY:
        rows = [
            change.values
            for write in writes
            for change in write.changes
            if isinstance(change, Upsert) and change.table is table
        ]
        upsert_rows(tx, table, rows)
    in_order = [
        [change for change in write.changes if not (isinstance(change, Upsert) and change.table in INSERT_ONLY)]
        for write in writes
    ]
    for row_of_changes in zip_longest(*in_order):  # in order within a session; sessions share no rows
        _apply_changes(tx, [change for change in row_of_changes if change])


_UPDATE_SESSION = update(sessions).where(
    sessions.c.id == bindparam("known_id"),
    sessions.c.position == bindparam("known_position"),
    sessions.c.snapshot_digest == bindparam("known_digest"),
)


def _claim_rows(tx: Connection, writes: Sequence[SessionWrite]) -> int:
    """Insert new session rows and update those that have the expected position and digest; return how many."""
    new_rows = [row(write.after) for write in writes if write.before.times is None]
    updated_rows = [
        row(write.after)
        | {"known_id": write.cached.id, "known_position": write.before.position, "known_digest": write.before.digest}
        for write in writes
        if write.before.times is not None
    ]
    return unprojected.insert_new(tx, new_rows) + count_rows(tx, _UPDATE_SESSION, updated_rows)


def _apply_changes(tx: Connection, changes: Sequence[RowChange]) -> None:
    """Apply one change per session; changes of the same shape share a statement."""
    upserts: dict[tuple[Table, *tuple[str, ...]], list[Values]] = defaultdict(list)
    updates: dict[tuple[Update, *tuple[str, ...]], list[Values]] = defaultdict(list)
    for change in changes:
        match change:
            case Upsert(table, values):
                upserts[table, *values].append(values)
            case RowUpdate(statement, values):
                updates[statement, *values].append(values)
            case Delete():
                tx.execute(delete(change.table).where(change.where))
    for (table, *_), rows in upserts.items():
        upsert_rows(tx, table, rows)
    for (statement, *_), rows in updates.items():
        tx.execute(statement, rows)
