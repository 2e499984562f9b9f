"""Sessions that a newer release has continued: noted by the older one, and taken up again by the newer one."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime

from sqlalchemy import ColumnElement, and_, delete, func, select

from parley.events import envelope
from services.plan_store.database import Database, put
from services.plan_store.tables import sessions
from services.plan_store.tables import waiting_for_upgrade as waiting
from shared.log import UpgradeNeeded


async def note(database: Database, newer: UpgradeNeeded, position: int) -> None:
    """The session goes on at this position with what this release cannot fold. Raises DatabaseDown."""
    row = {"session_id": newer.session_id, "position": position, "needs": newer.needs, "rules": newer.rules}
    async with database.begin() as tx:
        await put(tx, waiting, [row | {"at": datetime.now(UTC)}])


async def take_up(database: Database, project: Callable[[str, int], Awaitable[None]]) -> None:
    """Project the sessions that an older release has left, each up to its position. Raises DatabaseDown, LogDown."""
    readable = and_(waiting.c.needs <= envelope.FORMAT, waiting.c.rules <= envelope.RULES)
    async with database.begin() as tx:
        found = (await tx.execute(select(waiting.c.session_id, waiting.c.position).where(readable))).all()
    for session_id, position in found:
        await project(session_id, position)
        noted = and_(waiting.c.session_id == session_id, waiting.c.position == position)
        async with database.begin() as tx:
            await tx.execute(delete(waiting).where(noted, readable))


async def count(database: Database) -> int:
    """How many sessions wait. Raises DatabaseDown."""
    async with database.begin() as tx:
        return await tx.scalar(select(func.count()).select_from(waiting)) or 0


def not_waiting() -> ColumnElement[bool]:
    """Rows of `sessions` that have all of their session."""
    return sessions.c.id.not_in(select(waiting.c.session_id))
