"""A database that knows more than the log: one of the two was lost and came back from a backup."""

from sqlalchemy import func, select

from services.plan_store.database import Database
from services.plan_store.history import StoreLog
from services.plan_store.tables import journal, parked_messages


class DatabaseAhead(Exception):
    """Its rows would be believed, and work acknowledged that nobody does."""


async def check_behind(database: Database, log: StoreLog) -> None:
    """Raises DatabaseAhead, DatabaseDown, LogDown."""
    async with database.begin() as tx:
        newest = max([await tx.scalar(select(func.max(table.c.position))) or 0 for table in (journal, parked_messages)])
    if newest == 0:
        return  # at the very first start there may be no stream yet
    last = (await log.extent()).last
    if newest > last:
        raise DatabaseAhead(
            f"The database has messages up to position {newest}, the log only up to {last}: NATS was brought back "
            "from a backup, or NATS_URL or DATABASE_URL is another one's. If both are right, run `parley rebuild`, "
            "then start plan_store again."
        )
