"""Forgetting a session: its messages in the log, its rows, and what was forked from it is folded again without it."""

from datetime import UTC, datetime

from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from services.plan_store import tables as t
from services.plan_store.database import Database, put
from services.plan_store.history import StoreLog
from services.plan_store.projection import Projector
from services.plan_store.queries import descendants
from shared.domain.session import SESSION, Session
from shared.store_api import Purged, PurgeSession, StoreError

CHILDREN = tuple(table for table in t.PROJECTED if table not in (t.sessions, t.parked))


async def purge(log: StoreLog, database: Database, projector: Projector, ask: PurgeSession) -> Purged:
    """Raises StoreError (unknown, purged, forbidden, busy, has_forks), DatabaseDown, LogDown.

    The tombstone comes first: after a crash or an outage the rest is made up for (`finish`).
    """
    async with database.begin() as tx:
        begun = (await tx.execute(select(t.tombstones).where(t.tombstones.c.session_id == ask.session_id))).first()
    if begun is None or begun.done:
        await _bury(database, projector, ask)
    elif begun.owner != ask.user:
        raise StoreError("forbidden", "Only its owner can purge a session.")
    await finish(log, database, projector, ask.session_id)
    return Purged(session_id=ask.session_id)


async def _bury(database: Database, projector: Projector, ask: PurgeSession) -> None:
    loaded = await projector.load(ask.session_id)
    session = loaded.session
    if session.version == 0:
        raise StoreError("unknown", "There is no such session.")
    if session.owner != ask.user:
        raise StoreError("forbidden", "Only its owner can purge a session.")
    if session.work is not None:
        raise StoreError("busy", f"The {session.work.service} is at work: stop the session first.")
    forks = await descendants(database, ask.session_id)
    if forks and not ask.force:
        raise StoreError(
            "has_forks", f"{len(forks)} sessions were forked from this one and would lose what they took over from it."
        )
    async with database.begin() as tx:
        stone = {"session_id": ask.session_id, "owner": ask.user, "at": datetime.now(UTC), "done": False}
        await put(tx, t.tombstones, [stone])
        here = (t.sessions.c.id == ask.session_id, t.sessions.c.position == loaded.position)
        if (await tx.execute(delete(t.sessions).where(*here))).rowcount != 1:
            raise StoreError("busy", "The session has just moved on: look at it and decide again.")
        await _remove(tx, ask.session_id)


async def finish(log: StoreLog, database: Database, projector: Projector, session_id: str) -> None:
    """All that follows the tombstone; may be done twice."""
    await log.purge(session_id)
    forks = await descendants(database, session_id)
    async with database.begin() as tx:
        await _remove(tx, session_id)
        for fork in forks:
            await _reset(tx, fork)
    for fork in forks:
        projector.forget(fork)
        await projector.load(fork)
    async with database.begin() as tx:
        await tx.execute(update(t.tombstones).where(t.tombstones.c.session_id == session_id).values(done=True))


async def unfinished(database: Database) -> list[str]:
    """Purges that were begun and not ended."""
    async with database.begin() as tx:
        return list(await tx.scalars(select(t.tombstones.c.session_id).where(~t.tombstones.c.done)))


async def _remove(tx: AsyncConnection, session_id: str) -> None:
    await tx.execute(delete(t.sessions).where(t.sessions.c.id == session_id))
    for table in (t.parked, t.dead):
        await tx.execute(delete(table).where(table.c.session_id == session_id))


async def _reset(tx: AsyncConnection, session_id: str) -> None:
    """Back to where nothing is folded. The row and its parent stay, so that a crash here loses no fork."""
    nothing = SESSION.dump_python(Session(session_id), mode="json")
    fresh = {"position": 0, "version": 0, "digest": "", "session": nothing, "work_service": None, "expires_at": None}
    await tx.execute(update(t.sessions).where(t.sessions.c.id == session_id).values(fresh))
    for table in CHILDREN:
        await tx.execute(delete(table).where(table.c.session_id == session_id))
