"""The projection: a session's tail from the log into its rows, exactly once, whoever else does the same."""

import asyncio
import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from contextlib import suppress
from weakref import WeakValueDictionary

import structlog
from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from services.plan_store import parking
from services.plan_store.change import Change, Patch, Put, Remove
from services.plan_store.database import Database, put
from services.plan_store.folded import Folded, from_row, moved, row, sealed, unknown
from services.plan_store.history import PAGE, Step, StoreLog, as_it_was, fold_one
from services.plan_store.rows import changes
from services.plan_store.tables import journal, sessions
from shared.events.values import SESSION_ID
from shared.log import Loaded
from shared.store_api import StoreError

log = structlog.get_logger("plan_store")
REMEMBERED = 512
_is_session_id = re.compile(SESSION_ID).fullmatch
Moved = Callable[[Folded, Folded], Awaitable[None]]


class Projector:
    """Keeps rows and log together. Several may work on one database: whoever commits first has projected."""

    def __init__(self, log: StoreLog, database: Database) -> None:
        self._log = log
        self._database = database
        self.on_moved: Moved | None = None  # told a session before and after it was projected here, once stored
        self._remembered: OrderedDict[str, Folded] = OrderedDict()
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def nudge(self, session_id: str, position: int) -> None:
        """There is something at `position`: project what is not projected yet. Raises DatabaseDown, LogDown."""
        if not _is_session_id(session_id):
            await parking.park_all(self._log, self._database, session_id, "not the id of a session")
        elif await self._position(session_id) < position:
            with suppress(StoreError):  # purged: what came is put aside
                await self._follow(session_id)

    async def load(self, session_id: str, *, at_least: int = 0, version: int | None = None) -> Loaded:
        """The session as it is now, or was at `version`.

        Raises StoreError (purged, behind, unknown), DatabaseDown, LogDown.
        """
        known = await self._follow(session_id)
        if known.position < at_least:
            known = await self._follow(session_id, leader=True)
        if known.position < at_least:
            raise StoreError("behind", f"The log holds nothing of the session at position {at_least}.")
        if version is None or version == known.session.version:
            return known.loaded
        if version > known.session.version:
            raise StoreError("unknown", f"The session has {known.session.version} versions.")
        return await as_it_was(self._log, session_id, version)

    def forget(self, session_id: str) -> None:
        self._remembered.pop(session_id, None)

    async def _follow(self, session_id: str, *, leader: bool = False) -> Folded:
        """Project the tail; what is known after it."""
        lock = self._locks.setdefault(session_id, asyncio.Lock())
        async with lock:
            while True:
                known = await self._known(session_id)
                if known is None:
                    await parking.park_all(self._log, self._database, session_id, "the session was purged")
                    raise StoreError("purged", "The session was purged; its id is not used again.")
                page = await self._log.read(session_id, after=known.position, limit=PAGE, leader=leader)
                if not page:
                    return known
                steps: list[Step] = []
                after = known
                for raw in page:
                    steps.append(await fold_one(self._log, after.loaded, raw))
                    after = moved(after, steps[-1])
                after = sealed(after)
                if await self._store(known, after, steps) and len(page) < PAGE:
                    return after

    async def _position(self, session_id: str) -> int:
        async with self._database.begin() as tx:
            found = await tx.scalar(select(sessions.c.position).where(sessions.c.id == session_id))
        return found or 0

    async def _known(self, session_id: str) -> Folded | None:
        """What is projected of the session by now; None when it was purged."""
        mine = sessions.c.id == session_id
        remembered = self._remembered.get(session_id)
        async with self._database.begin() as tx:
            if remembered:
                stored = (await tx.execute(select(sessions.c.position, sessions.c.digest).where(mine))).first()
                if stored and tuple(stored) == (remembered.position, remembered.digest):
                    self._remembered.move_to_end(session_id)
                    return remembered
            found = (await tx.execute(select(sessions).where(mine))).mappings().first()
            if found is None:
                return None if await parking.is_purged(tx, session_id) else unknown(session_id)
        return self._remember(from_row(found) or await self._folded_again(session_id, found["position"]))

    async def _folded_again(self, session_id: str, position: int) -> Folded:
        """The state behind a row that another version of Parley wrote, from the log."""
        log.info("folding_again", session=session_id)
        async with self._database.begin() as tx:
            digest = await tx.scalar(select(sessions.c.digest).where(sessions.c.id == session_id))
        known = unknown(session_id)
        while known.position < position:
            page = await self._log.read(session_id, after=known.position, limit=PAGE)
            for raw in page:
                if raw.position <= position:
                    known = moved(known, await fold_one(self._log, known.loaded, raw))
            if not page or page[-1].position >= position:
                break
        return known._replace(digest=digest or "")

    async def _store(self, known: Folded, after: Folded, steps: list[Step]) -> bool:
        """One transaction, and only if nobody else has moved the session on."""
        async with self._database.begin() as tx:
            if not await _claim(tx, known, after):
                self.forget(after.session.id)
                return False
            await _write(tx, [change for step in steps for change in changes(step)])
        self._remember(after)
        if self.on_moved:
            await self.on_moved(known, after)
        return True

    def _remember(self, folded: Folded) -> Folded:
        self._remembered[folded.session.id] = folded
        self._remembered.move_to_end(folded.session.id)
        while len(self._remembered) > REMEMBERED:
            self._remembered.popitem(last=False)
        return folded


async def _claim(tx: AsyncConnection, known: Folded, after: Folded) -> bool:
    """Move the session's row from the position and digest that were known; False when it is somewhere else.

    It is the transaction's first statement: SQLite then never has to turn a reader into a writer.
    """
    if known.times is None:
        return await parking.insert_new(tx, row(after))
    mine = (sessions.c.id == after.session.id, sessions.c.position == known.position, sessions.c.digest == known.digest)
    return (await tx.execute(update(sessions).where(*mine).values(row(after)))).rowcount == 1


async def _write(tx: AsyncConnection, found: list[Change]) -> None:
    """In order; only the journal's rows, which nothing changes later, go in together."""
    await put(tx, journal, [c.values for c in found if isinstance(c, Put) and c.table is journal])
    for change in found:
        match change:
            case Put():
                if change.table is not journal:
                    await put(tx, change.table, [change.values])
            case Patch():
                await tx.execute(update(change.table).where(change.where).values(change.values))
            case Remove():
                await tx.execute(delete(change.table).where(change.where))
