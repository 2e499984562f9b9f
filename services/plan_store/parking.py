"""What is no session: messages under ids that cannot be one, and under ids of purged sessions."""

import hashlib
import re
from functools import cache
from typing import Any

from sqlalchemy import Connection, Executable, bindparam, exists, func, select
from sqlalchemy.dialects import postgresql, sqlite

from parley.events.values import SESSION_ID
from services.plan_store.database import Database, count, put
from services.plan_store.history import PAGE, Step, StoreLog
from services.plan_store.rows import parked
from services.plan_store.tables import parked_messages, sessions, tombstones
from shared.domain.session import Session
from shared.log import SessionAtPosition

is_session_id = re.compile(SESSION_ID).fullmatch


def bounded(session_id: str) -> str:
    """An id as it is stored: one that no session can have is cut, and stays unlike any other."""
    if is_session_id(session_id):
        return session_id
    return f"{session_id[:40]}…{hashlib.sha256(session_id.encode()).hexdigest()[:16]}"


async def park_all(log: StoreLog, database: Database, session_id: str, reason: str) -> None:
    """Put aside every message under this id that is not put aside yet. Raises DatabaseDown, LogDown."""
    shown = bounded(session_id)
    async with database.begin() as tx:
        newest = select(func.max(parked_messages.c.position)).where(parked_messages.c.session_id == shown)
        after = await tx.scalar(newest) or 0
    nothing = SessionAtPosition(Session(shown), 0)
    while page := await log.read(session_id, after=after, limit=PAGE):
        rows = [parked(Step(nothing, raw, None, reason, nothing), shown).values for raw in page]
        async with database.begin() as tx:
            await put(tx, parked_messages, rows)
        after = page[-1].position


def is_purged(tx: Connection, session_id: str) -> bool:
    found = tx.scalar(select(tombstones.c.session_id).where(tombstones.c.session_id == session_id))
    return found is not None


def insert_new(tx: Connection, rows: list[dict[str, Any]]) -> int:
    """The first rows of sessions; how many: not those that somebody else has made, or whose session was purged."""
    named = [{f"new_{name}": value for name, value in values.items()} for values in rows]
    return count(tx, _insert(tx.dialect.name, tuple(rows[0])), named) if rows else 0


@cache
def _insert(dialect: str, names: tuple[str, ...]) -> Executable:
    insert = sqlite.insert(sessions) if dialect == "sqlite" else postgresql.insert(sessions)
    row = select(*(bindparam(f"new_{name}", type_=sessions.c[name].type) for name in names))
    gone = exists().where(tombstones.c.session_id == bindparam("new_id"))
    return insert.from_select(list(names), row.where(~gone)).on_conflict_do_nothing()
