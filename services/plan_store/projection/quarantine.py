"""Quarantines messages that belong to no session: under invalid ids, and under ids of purged sessions."""

import hashlib
import re
from functools import cache
from typing import Any

from sqlalchemy import Connection, Executable, bindparam, exists, func, select
from sqlalchemy.dialects import postgresql, sqlite

from parley.events.values import SESSION_ID
from services.plan_store.database import ProjectionDatabase, count_rows, upsert
from services.plan_store.projection.history import PAGE, FoldedMessage, StoreLog
from services.plan_store.projection.rows import quarantine_row
from services.plan_store.tables import parked_messages, sessions, tombstones
from shared.domain.session import Session
from shared.log import SessionAtPosition

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
