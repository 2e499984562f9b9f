"""Forgetting a session: its messages in the log and its rows. What was forked from it lives on."""

from datetime import UTC, datetime

from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from services.plan_store import tables as t
from services.plan_store.database import Database, put
from services.plan_store.history import StoreLog
from services.plan_store.projection import Projector
from shared.store_api import Purged, PurgeSession, StoreError


async def purge(log: StoreLog, database: Database, projector: Projector, ask: PurgeSession) -> Purged:
    """Raises StoreError (unknown, purged, forbidden, busy), DatabaseDown, LogDown.

    The tombstone comes first: after a crash or an outage the rest is made up for (`finish`).
    """
    async with database.begin() as tx:
        begun = (await tx.execute(select(t.tombstones).where(t.tombstones.c.session_id == ask.session_id))).first()
    if begun is None or begun.log_purged:
        await _bury(database, projector, ask)
    elif begun.owner != ask.user:
        raise StoreError("forbidden", "Only its owner can purge a session.")
    await finish(log, database, ask.session_id)
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
    async with database.begin() as tx:
        stone = {"session_id": ask.session_id, "owner": ask.user, "at": datetime.now(UTC), "log_purged": False}
        await put(tx, t.tombstones, [stone])
        here = (t.sessions.c.id == ask.session_id, t.sessions.c.position == loaded.position)
        if (await tx.execute(delete(t.sessions).where(*here))).rowcount != 1:
            raise StoreError("busy", "The session has just moved on: look at it and decide again.")
        await _remove(tx, ask.session_id)


async def finish(log: StoreLog, database: Database, session_id: str) -> None:
    """All that follows the tombstone; may be done twice."""
    await log.purge(session_id)
    async with database.begin() as tx:
        await _remove(tx, session_id)
        await tx.execute(update(t.tombstones).where(t.tombstones.c.session_id == session_id).values(log_purged=True))


async def unfinished(database: Database) -> list[str]:
    """Purges that were begun and not ended."""
    async with database.begin() as tx:
        return list(await tx.scalars(select(t.tombstones.c.session_id).where(~t.tombstones.c.log_purged)))


async def _remove(tx: AsyncConnection, session_id: str) -> None:
    await tx.execute(delete(t.sessions).where(t.sessions.c.id == session_id))
    for table in (t.parked_messages, t.dead_letters, t.waiting_for_upgrade, t.forgotten):
        await tx.execute(delete(table).where(table.c.session_id == session_id))
