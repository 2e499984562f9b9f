"""The projection: a session's tail from the log into its rows, exactly once, whoever else does the same."""

from contextlib import suppress
from functools import partial

import structlog
from cachetools import LRUCache
from sqlalchemy import Connection, RowMapping, select

from services.plan_store import parking, upgrades
from services.plan_store.database import Database
from services.plan_store.folded import Folded, from_row, moved, times, unknown
from services.plan_store.history import EVERYTHING, PAGE, StoreLog, as_it_was, fold_one
from services.plan_store.rows import changes
from services.plan_store.tables import sessions
from services.plan_store.writing import Held, Moved, Writer
from shared.domain.session import Session
from shared.log import SessionAtPosition, StoredMessage, UpgradeNeeded, follows, require_readable
from shared.store_api import StoreError

log = structlog.get_logger("plan_store")
REMEMBERED = 512
SOON = 0.02  # seconds: a message that a worker has is delivered here at the same time


class Projector:
    """Keeps rows and log together. Several may work on one database: whoever commits first has projected.

    Where a single server keeps the log, its guard is enough to tell that nothing lies between two messages of a
    session. In a cluster it is not (a stranger's unguarded message may slip in while another is on its way): the log is
    read, and its leader is asked for what is new, as a replica may lag.
    """

    def __init__(self, log: StoreLog, database: Database) -> None:
        self._log = log
        self._database = database
        self._writer = Writer(database)
        self._held: LRUCache[str, Held] = LRUCache(maxsize=REMEMBERED)

    @property
    def on_moved(self) -> Moved | None:
        """Told a session before and after it was projected here, once stored."""
        return self._writer.on_moved

    @on_moved.setter
    def on_moved(self, told: Moved) -> None:
        self._writer.on_moved = told

    async def nudge(self, session_id: str, position: int, raw: StoredMessage | None = None) -> None:
        """There is something at `position`, namely `raw`: project what is not projected yet.

        Raises DatabaseDown, LogDown.
        """
        if not parking.is_session_id(session_id):
            await parking.park_all(self._log, self._database, session_id, "not the id of a session")
            return
        with suppress(StoreError):  # purged: what came is put aside
            held = self._held.get(session_id) or self._begun(session_id, raw) or await self._from_row(session_id)
            while held.stored.position < position:
                await self._fold(held, raw)
                if raw and held.newest.position < position:  # whoever was asked lags: nobody comes again for it
                    await self._fold(held, raw, leader=True)
                if await self._stored(held):
                    break
                held = await self._from_row(session_id)
            if held.newer and held.newest.position < position:
                log.warning("left_to_a_newer_release", session=session_id, position=position, reason=str(held.newer))
                await upgrades.note(self._database, held.newer, position)

    async def load(self, session_id: str, *, at_least: int = 0, version: int | None = None) -> SessionAtPosition:
        """The session as it is now, or was at `version`; its rows are as new.

        Raises StoreError (purged, behind, unknown, upgrade_needed), DatabaseDown, LogDown.
        """
        while True:
            held = await self._fresh(session_id, at_least)
            if await self._stored(held, hurry=True):
                break
        return await self._wanted(held, at_least, version)

    async def look(self, session_id: str, *, at_least: int = 0, version: int | None = None) -> SessionAtPosition:
        """As `load`, but its rows may not be there yet. Whoever names a position needs nothing newer than that."""
        held = self._held.get(session_id)
        if held and at_least and not held.lost:
            await held.comes_to(at_least, SOON)
            await self._fold(held, at_least=at_least)
        if held is None or not at_least or held.lost or held.newest.position < at_least:
            held = await self._fresh(session_id, at_least)
        return await self._wanted(held, at_least, version)

    def forget(self, session_id: str) -> None:
        self._held.pop(session_id, None)

    async def _wanted(self, held: Held, at_least: int, version: int | None) -> SessionAtPosition:
        known = held.newest
        if held.newer and (version is None or version > known.session.version):
            raise StoreError("upgrade_needed", str(held.newer))
        if known.position < at_least:
            raise StoreError("behind", f"The log holds nothing of the session at position {at_least}.")
        if version is None or version == known.session.version:
            return known.loaded
        if version > known.session.version:
            raise StoreError("unknown", f"The session has {known.session.version} versions.")
        return await as_it_was(self._log, held.id, version)

    async def _fresh(self, session_id: str, at_least: int) -> Held:
        """The session with the log's tail."""
        held = await self._checked(session_id) or await self._from_row(session_id)
        await self._fold(held)
        if self._log.clustered or held.newest.position < at_least:
            await self._fold(held, leader=True)
        return held

    async def _stored(self, held: Held, *, hurry: bool = False) -> bool:
        if await self._writer.stored(held, hurry=hurry):
            return True
        if self._held.get(held.id) is held:
            self.forget(held.id)
        return False

    async def _fold(
        self, held: Held, raw: StoredMessage | None = None, *, at_least: int = EVERYTHING, leader: bool = False
    ) -> None:
        """Fold what is new up to `at_least`: `raw` alone where nothing can be missing, else whatever the log has."""
        async with held.folding:
            while not held.newer and held.newest.position < (raw.position if raw else at_least):
                if raw and not self._log.clustered and follows(raw, held.newest.position):
                    page = [raw]
                else:
                    page = await self._log.read(held.id, after=held.newest.position, limit=PAGE, leader=leader)
                for one in page:
                    try:
                        step = fold_one(held.newest.loaded, one)
                    except UpgradeNeeded as newer:
                        held.newer = newer
                        return
                    made = list(changes(step))
                    held.move(moved(held.newest, step), made)
                if len(page) < PAGE:
                    return

    async def _checked(self, session_id: str) -> Held | None:
        """What is remembered, if it is what the row tells."""
        held = self._held.get(session_id)
        while held and held.stored.times and not held.lost:
            await self._writer.settled()
            stored = held.stored
            if await self._database.work(partial(_head, session_id)) == (stored.position, stored.digest):
                return held
            held.lost = held.stored is stored  # another replica has moved it, or reset it; else we have meanwhile
        return None

    def _begun(self, session_id: str, raw: StoredMessage | None) -> Held | None:
        """A session that begins with this message; a row that is there all the same will not be overwritten."""
        return self._remember(Held(unknown(session_id))) if raw and follows(raw, 0) else None

    async def _from_row(self, session_id: str) -> Held:
        """As the row has it. Raises StoreError (purged)."""
        found, purged = await self._database.work(partial(_row, session_id))
        if purged:
            self.forget(session_id)
            await parking.park_all(self._log, self._database, session_id, "the session was purged")
            raise StoreError("purged", "The session was purged; its id is not used again.")
        if found is None:
            return self._remember(Held(unknown(session_id)))
        try:
            require_readable(found["snapshot"])
            known = from_row(found) or await self._folded_again(session_id, found["position"], found["snapshot_digest"])
        except UpgradeNeeded as newer:
            held = Held(
                Folded(
                    SessionAtPosition(Session(session_id), found["position"]), times(found), found["snapshot_digest"]
                )
            )
            held.newer = newer
            return self._remember(held)
        return self._remember(Held(known))

    async def _folded_again(self, session_id: str, position: int, digest: str) -> Folded:
        """The state behind a row that another version of Parley wrote, from the log."""
        log.info("folding_again", session=session_id)
        known = unknown(session_id)
        while known.position < position:
            page = await self._log.read(session_id, after=known.position, limit=PAGE)
            for raw in page:
                if raw.position <= position:
                    known = moved(known, fold_one(known.loaded, raw))
            if not page or page[-1].position >= position:
                break
        return known._replace(digest=digest)

    def _remember(self, held: Held) -> Held:
        """Whatever is dropped is in the log."""
        if (other := self._held.get(held.id)) and not other.lost and other.stored.position >= held.stored.position:
            return other
        self._held[held.id] = held
        return held


def _head(session_id: str, tx: Connection) -> tuple[int, str] | None:
    """Position and digest of the session's row."""
    query = select(sessions.c.position, sessions.c.snapshot_digest).where(sessions.c.id == session_id)
    found = tx.execute(query).first()
    return (found[0], found[1]) if found else None


def _row(session_id: str, tx: Connection) -> tuple[RowMapping | None, bool]:
    """The session's row, and whether there is none because it was purged."""
    found = tx.execute(select(sessions).where(sessions.c.id == session_id)).mappings().first()
    return found, found is None and parking.is_purged(tx, session_id)
