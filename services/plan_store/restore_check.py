"""Detects a database that is ahead of the log, because one of the two was restored from a backup."""

from sqlalchemy import func, select

from services.plan_store.database import ProjectionDatabase
from services.plan_store.history import StoreLog
from services.plan_store.tables import journal, parked_messages


class DatabaseAheadOfLog(Exception):
    """The rows describe messages that the log no longer has, so new messages would be taken for old ones."""


async def check_database_not_ahead(database: ProjectionDatabase, log: StoreLog) -> None:
    """Raises DatabaseAheadOfLog, Unavailable."""
    async with database.begin() as tx:
        newest = max([await tx.scalar(select(func.max(table.c.position))) or 0 for table in (journal, parked_messages)])
    if newest == 0:
        return  # at the first start there may be no stream yet
    last = (await log.extent()).last
    if newest > last:
        raise DatabaseAheadOfLog(
            f"The database has messages up to position {newest}, the log only up to {last}: NATS was brought back "
            "from a backup or has lost its newest messages, or NATS_URL or DATABASE_URL is another one's. Bring back "
            "what is missing. If both are right, run `parley rebuild`, which keeps only what the log has, then start "
            "plan_store again."
        )
