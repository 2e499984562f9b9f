"""The projection: folds a session's new messages from the log into its rows, exactly once across all replicas."""

from contextlib import suppress
from functools import partial

import structlog
from cachetools import LRUCache
from sqlalchemy import Connection, RowMapping, select

from services.plan_store.database import ProjectionDatabase
from services.plan_store.projection import unprojected
from services.plan_store.projection.history import (
    END_OF_LOG,
    PAGE,
    ProjectedSession,
    StoreLog,
    empty_session,
    fold_message,
    from_row,
    project_message,
    session_at_version,
    times_of,
)
from services.plan_store.projection.rows import changes_for
from services.plan_store.projection.writer import CachedSession, OnProjected, Writer
from services.plan_store.tables import sessions
from shared.domain.kernel.session import Session
from shared.log import SessionAtPosition, StoredMessage, UpgradeNeeded, follows, require_readable
from shared.store_api import StoreError

log = structlog.get_logger("plan_store")
CACHE_SIZE = 512  # sessions
ARRIVAL_TIMEOUT = 0.02  # seconds: a message that a worker knows of is being delivered here at the same time


class Projector:
    """Keeps the rows up to date with the log. Several replicas may share a database: the first commit wins.

    With a single NATS server, the expected-position header proves that no message lies between two messages of a
    session. In a cluster it does not: a foreign client's unguarded message may arrive in between. There the log is
    read, and its leader is asked for new messages, because a replica may lag.
    """

    def __init__(self, log: StoreLog, database: ProjectionDatabase) -> None:
        self._log = log
        self._database = database
        self._writer = Writer(database)
        self._cache: LRUCache[str, CachedSession] = LRUCache(maxsize=CACHE_SIZE)

    @property
    def on_projected(self) -> OnProjected | None:
        """Called with the session before and after this process has projected it, once that is stored."""
        return self._writer.on_projected

    @on_projected.setter
    def on_projected(self, callback: OnProjected) -> None:
        self._writer.on_projected = callback

    @property
    def write_problem(self) -> str:
        """Why the rows cannot be written, and what to do; "" if they can."""
        return self._writer.problem

    async def project_up_to(self, session_id: str, position: int, raw: StoredMessage | None = None) -> None:
        """Project the session up to `position`. `raw` is the message there, if the caller has it.

        Raises Unavailable.
        """
        if not unprojected.is_session_id(session_id):
            await unprojected.quarantine_all(self._log, self._database, session_id, "not the id of a session")
            return
        with suppress(StoreError):  # purged: the message has been quarantined
            cached = (
                self._cache.get(session_id) or self._new_session(session_id, raw) or await self._from_row(session_id)
            )
            while cached.stored.position < position:
                await self._fold(cached, raw)
                if raw and cached.newest.position < position:  # a replica lags, and this delivery is the only one
                    await self._fold(cached, raw, leader=True)
                if await self._flush(cached):
                    break
                cached = await self._from_row(session_id)
            if cached.upgrade_needed and cached.newest.position < position:
                log.warning(
                    "left_to_a_newer_release", session=session_id, position=position, reason=str(cached.upgrade_needed)
                )
                await unprojected.record_waiting(self._database, cached.upgrade_needed, position)

    async def load(self, session_id: str, *, at_least: int = 0, version: int | None = None) -> SessionAtPosition:
        """The session as it is now, or as it was at `version`. Its rows are up to date on return.

        Raises StoreError (purged, behind, unknown, upgrade_needed), Unavailable.
        """
        while True:
            cached = await self._up_to_date(session_id, at_least)
            if await self._flush(cached, is_urgent=True):
                break
        return await self._at_version(cached, at_least, version)

    async def load_state(self, session_id: str, *, at_least: int = 0, version: int | None = None) -> SessionAtPosition:
        """As `load`, but the rows may not be written yet. With `at_least`, nothing newer than that is looked for."""
        cached = self._cache.get(session_id)
        if cached and at_least and not cached.is_stale:
            await cached.wait_for_position(at_least, ARRIVAL_TIMEOUT)
            await self._fold(cached, at_least=at_least)
        if cached is None or not at_least or cached.is_stale or cached.newest.position < at_least:
            cached = await self._up_to_date(session_id, at_least)
        return await self._at_version(cached, at_least, version)

    def forget(self, session_id: str) -> None:
        self._cache.pop(session_id, None)

    async def _at_version(self, cached: CachedSession, at_least: int, version: int | None) -> SessionAtPosition:
        known = cached.newest
        if cached.upgrade_needed and (version is None or version > known.session.version):
            raise StoreError("upgrade_needed", str(cached.upgrade_needed))
        if known.position < at_least:
            raise StoreError("behind", f"The log holds nothing of the session at position {at_least}.")
        if version is None or version == known.session.version:
            return known.loaded
        if version > known.session.version:
            raise StoreError("unknown", f"The session has {known.session.version} versions.")
        return await session_at_version(self._log, cached.id, version)

    async def _up_to_date(self, session_id: str, at_least: int) -> CachedSession:
        """The session with all messages that the log has. In a cluster, the leader is asked."""
        cached = await self._verified(session_id) or await self._from_row(session_id)
        await self._fold(cached)
        if self._log.clustered or cached.newest.position < at_least:
            await self._fold(cached, leader=True)
        return cached

    async def _flush(self, cached: CachedSession, *, is_urgent: bool = False) -> bool:
        if await self._writer.flush(cached, is_urgent=is_urgent):
            return True
        if self._cache.get(cached.id) is cached:
            self.forget(cached.id)
        return False

    async def _fold(
        self,
        cached: CachedSession,
        raw: StoredMessage | None = None,
        *,
        at_least: int = END_OF_LOG,
        leader: bool = False,
    ) -> None:
        """Fold new messages up to `at_least`: only `raw` if it directly follows, otherwise what the log has."""
        async with cached.fold_lock:
            while not cached.upgrade_needed and cached.newest.position < (raw.position if raw else at_least):
                if raw and not self._log.clustered and follows(raw, cached.newest.position):
                    page = [raw]
                else:
                    page = await self._log.read(cached.id, after=cached.newest.position, limit=PAGE, leader=leader)
                for message in page:
                    try:
                        folded = fold_message(cached.newest.loaded, message)
                    except UpgradeNeeded as error:
                        cached.upgrade_needed = error
                        return
                    changes = list(changes_for(folded))
                    cached.advance(project_message(cached.newest, folded), changes)
                if len(page) < PAGE:
                    return

    async def _verified(self, session_id: str) -> CachedSession | None:
        """The cached session, if it still matches its row."""
        cached = self._cache.get(session_id)
        while cached and cached.stored.times and not cached.is_stale:
            await self._writer.wait_for_transaction()
            stored = cached.stored
            if await self._database.run(partial(_head, session_id)) == (stored.position, stored.digest):
                return cached
            cached.is_stale = cached.stored is stored  # else this process has just written the row itself
        return None

    def _new_session(self, session_id: str, raw: StoredMessage | None) -> CachedSession | None:
        """An empty session, if `raw` is its first message. Writing it fails if a row exists after all."""
        return self._remember(CachedSession(empty_session(session_id))) if raw and follows(raw, 0) else None

    async def _from_row(self, session_id: str) -> CachedSession:
        """The session from its row. Raises StoreError (purged)."""
        row, purged = await self._database.run(partial(_row, session_id))
        if purged:
            self.forget(session_id)
            await unprojected.quarantine_all(self._log, self._database, session_id, "the session was purged")
            raise StoreError("purged", "The session was purged; its id is not used again.")
        if row is None:
            return self._remember(CachedSession(empty_session(session_id)))
        try:
            require_readable(row["snapshot"])
            known = from_row(row) or await self._refold(session_id, row["position"], row["snapshot_digest"])
        except UpgradeNeeded as error:
            cached = CachedSession(
                ProjectedSession(
                    SessionAtPosition(Session(session_id), row["position"]), times_of(row), row["snapshot_digest"]
                )
            )
            cached.upgrade_needed = error
            return self._remember(cached)
        return self._remember(CachedSession(known))

    async def _refold(self, session_id: str, position: int, digest: str) -> ProjectedSession:
        """Fold the session from the log, up to a row that another version of Parley wrote."""
        log.info("folding_again", session=session_id)
        known = empty_session(session_id)
        while known.position < position:
            page = await self._log.read(session_id, after=known.position, limit=PAGE)
            for raw in page:
                if raw.position <= position:
                    known = project_message(known, fold_message(known.loaded, raw))
            if not page or page[-1].position >= position:
                break
        return known._replace(digest=digest)

    def _remember(self, cached: CachedSession) -> CachedSession:
        """Cache the session, unless one that is as new is cached already. Return the cached one."""
        if (
            (other := self._cache.get(cached.id))
            and not other.is_stale
            and other.stored.position >= cached.stored.position
        ):
            return other
        self._cache[cached.id] = cached
        return cached


def _head(session_id: str, tx: Connection) -> tuple[int, str] | None:
    """Position and digest of the session's row."""
    query = select(sessions.c.position, sessions.c.snapshot_digest).where(sessions.c.id == session_id)
    row = tx.execute(query).first()
    return (row[0], row[1]) if row else None


def _row(session_id: str, tx: Connection) -> tuple[RowMapping | None, bool]:
    """The session's row, and whether it is missing because the session was purged."""
    row = tx.execute(select(sessions).where(sessions.c.id == session_id)).mappings().first()
    return row, row is None and unprojected.is_purged(tx, session_id)
