"""Purges a session: its messages in the log and its rows. Its forks stay."""

from datetime import UTC, datetime

from sqlalchemy import delete, select, update
from sqlalchemy.ext.asyncio import AsyncConnection

from services.plan_store import tables as t
from services.plan_store.database import ProjectionDatabase, upsert
from services.plan_store.projection.history import StoreLog
from services.plan_store.projection.projector import Projector
from shared.store_api import Purged, PurgeSession, StoreError


async def purge(log: StoreLog, database: ProjectionDatabase, projector: Projector, ask: PurgeSession) -> Purged:
    """Delete all of a session. Idempotent. Raises StoreError (unknown, forbidden, busy), Unavailable.

    The tombstone is written first, so that an interrupted purge is completed later (`complete_purge`).
    """
    async with database.begin() as tx:
        tombstone = (await tx.execute(select(t.tombstones).where(t.tombstones.c.session_id == ask.session_id))).first()
    if tombstone is None:
        await _tombstone(database, projector, ask)
    elif tombstone.owner != ask.user and not ask.force:
        raise StoreError("forbidden", "Only its owner can purge a session.")
    await complete_purge(log, database, ask.session_id)
    projector.forget(ask.session_id)
    return Purged(session_id=ask.session_id)


async def _tombstone(database: ProjectionDatabase, projector: Projector, ask: PurgeSession) -> None:
    try:
        loaded = await projector.load(ask.session_id)
    except StoreError as error:
        if error.code != "upgrade_needed" or not ask.force:
            raise
        async with database.begin() as tx:
            await _delete_with_tombstone(tx, ask)
        return
    session = loaded.session
    if session.version == 0:
        raise StoreError("unknown", "There is no such session.")
    if session.owner != ask.user:
        raise StoreError("forbidden", "Only its owner can purge a session.")
    if session.works:
        raise StoreError("busy", f"The {session.works[0].service} is at work: stop the session first.")
    async with database.begin() as tx:
        unchanged = (t.sessions.c.id == ask.session_id, t.sessions.c.position == loaded.position)
        if (await tx.execute(delete(t.sessions).where(*unchanged))).rowcount != 1:
            raise StoreError("busy", "The session has just moved on: look at it and decide again.")
        await _delete_with_tombstone(tx, ask)


async def _delete_with_tombstone(tx: AsyncConnection, ask: PurgeSession) -> None:
    row = {"session_id": ask.session_id, "owner": ask.user, "at": datetime.now(UTC), "log_purged": False}
    await upsert(tx, t.tombstones, [row])
    await _delete_rows(tx, ask.session_id)


async def complete_purge(log: StoreLog, database: ProjectionDatabase, session_id: str) -> None:
    """Delete the messages and rows of a session that has a tombstone. Idempotent."""
    await log.purge(session_id)
    async with database.begin() as tx:
        await _delete_rows(tx, session_id)
        await tx.execute(update(t.tombstones).where(t.tombstones.c.session_id == session_id).values(log_purged=True))


async def incomplete_purges(database: ProjectionDatabase) -> list[str]:
    """The ids of sessions whose purge was interrupted."""
    async with database.begin() as tx:
        return list(await tx.scalars(select(t.tombstones.c.session_id).where(~t.tombstones.c.log_purged)))


async def _delete_rows(tx: AsyncConnection, session_id: str) -> None:
    await tx.execute(delete(t.sessions).where(t.sessions.c.id == session_id))
    for table in (t.parked_messages, t.dead_letters, t.waiting_for_upgrade, t.forgotten):
        await tx.execute(delete(table).where(table.c.session_id == session_id))
