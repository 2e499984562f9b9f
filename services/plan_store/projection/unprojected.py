"""Messages that no session gets: quarantined ones, and those of sessions that wait for a newer release."""

import hashlib
import re
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from functools import cache
from typing import Any

from sqlalchemy import ColumnElement, Connection, Executable, and_, bindparam, delete, exists, func, select
from sqlalchemy.dialects import postgresql, sqlite

from parley.events import envelope
from parley.events.values import SESSION_ID
from services.plan_store.database import ProjectionDatabase, count_rows, upsert
from services.plan_store.projection.history import PAGE, FoldedMessage, StoreLog
from services.plan_store.projection.rows import quarantine_row
from services.plan_store.tables import parked_messages, sessions, tombstones
from services.plan_store.tables import waiting_for_upgrade as waiting
from shared.domain.kernel.session import Session
from shared.log import SessionAtPosition, UpgradeNeeded

is_session_id = re.compile(SESSION_ID).fullmatch


def storable_id(session_id: str) -> str:
    """The id as it is stored: an invalid one is cut, with a hash that keeps it distinct."""
    if is_session_id(session_id):
        return session_id
    return f"{session_id[:40]}…{hashlib.sha256(session_id.encode()).hexdigest()[:16]}"


async def quarantine_all(log: StoreLog, database: ProjectionDatabase, session_id: str, reason: str) -> None:
    """Quarantine every message under this id that is not quarantined yet. Raises Unavailable."""
    stored_id = storable_id(session_id)
    async with database.begin() as tx:
        newest = select(func.max(parked_messages.c.position)).where(parked_messages.c.session_id == stored_id)
        after = await tx.scalar(newest) or 0
    empty = SessionAtPosition(Session(stored_id), 0)
    while page := await log.read(session_id, after=after, limit=PAGE):
        rows = [quarantine_row(FoldedMessage(empty, raw, None, reason, empty), stored_id).values for raw in page]
        async with database.begin() as tx:
            await upsert(tx, parked_messages, rows)
        after = page[-1].position


def is_purged(tx: Connection, session_id: str) -> bool:
    tombstone = tx.scalar(select(tombstones.c.session_id).where(tombstones.c.session_id == session_id))
    return tombstone is not None


def insert_new(tx: Connection, rows: list[dict[str, Any]]) -> int:
    """Insert rows of new sessions and return how many. Skips those that exist already or were purged."""
    parameters = [{f"new_{name}": value for name, value in values.items()} for values in rows]
    return count_rows(tx, _insert(tx.dialect.name, tuple(rows[0])), parameters) if rows else 0


@cache
def _insert(dialect: str, names: tuple[str, ...]) -> Executable:
    insert = sqlite.insert(sessions) if dialect == "sqlite" else postgresql.insert(sessions)
    row = select(*(bindparam(f"new_{name}", type_=sessions.c[name].type) for name in names))
    purged = exists().where(tombstones.c.session_id == bindparam("new_id"))
    return insert.from_select(list(names), row.where(~purged)).on_conflict_do_nothing()


async def record_waiting(database: ProjectionDatabase, needed: UpgradeNeeded, position: int) -> None:
    """Record that this release cannot fold the session's message at this position. Raises DatabaseUnavailable."""
    row = {"session_id": needed.session_id, "position": position, "needs": needed.needs}
    async with database.begin() as tx:
        await upsert(tx, waiting, [row | {"at": datetime.now(UTC)}])


async def find_waiting(database: ProjectionDatabase) -> None:
    """Record the sessions whose rows a newer release has written and this one cannot read. Raises DatabaseUnavailable.

    After a return to this release, they would otherwise be counted only when somebody opens them.
    """
    needs = func.coalesce(sessions.c.snapshot["needs"].as_integer(), 1)
    columns = (sessions.c.id.label("session_id"), sessions.c.position, needs.label("needs"))
    query = select(*columns).where(needs > envelope.FORMAT, not_waiting())
    async with database.begin() as tx:
        rows = [dict(row) | {"at": datetime.now(UTC)} for row in (await tx.execute(query)).mappings()]
        await upsert(tx, waiting, rows)


async def project_waiting(database: ProjectionDatabase, project: Callable[[str, int], Awaitable[None]]) -> None:
    """Project the recorded sessions that this release can fold. Raises Unavailable."""
    readable = waiting.c.needs <= envelope.FORMAT
    async with database.begin() as tx:
        rows = (await tx.execute(select(waiting.c.session_id, waiting.c.position).where(readable))).all()
    for session_id, position in rows:
        await project(session_id, position)
        recorded = and_(waiting.c.session_id == session_id, waiting.c.position == position)
        async with database.begin() as tx:
            await tx.execute(delete(waiting).where(recorded, readable))


async def count_waiting(database: ProjectionDatabase) -> int:
    """The number of waiting sessions. Raises DatabaseUnavailable."""
    async with database.begin() as tx:
        return await tx.scalar(select(func.count()).select_from(waiting)) or 0


def not_waiting() -> ColumnElement[bool]:
    """A condition for rows of `sessions` that are not waiting for an upgrade."""
    return sessions.c.id.not_in(select(waiting.c.session_id))
