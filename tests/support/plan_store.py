"""For the tests of plan_store: all rows of a database."""

from typing import Any

from sqlalchemy import select

from services.plan_store.database import Database
from services.plan_store.tables import PROJECTED

Rows = dict[str, list[tuple[Any, ...]]]


async def rows(database: Database) -> Rows:
    """Every row of every projected table, in the order of its key."""
    found: Rows = {}
    async with database.begin() as tx:
        for table in PROJECTED:
            query = select(table).order_by(*table.primary_key.columns)
            found[table.name] = [tuple(row) for row in await tx.execute(query)]
    return found
