"""Sessions that a newer release has continued: an older release records them, a newer one projects them."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from sqlalchemy import ColumnElement, and_, delete, func, select

from parley.events import envelope
from services.plan_store.database import ProjectionDatabase, upsert
from services.plan_store.tables import sessions
from services.plan_store.tables import waiting_for_upgrade as waiting
from shared.log import UpgradeNeeded


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
