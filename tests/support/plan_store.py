"""Test support for plan_store: all rows of a database."""

from typing import Any

from sqlalchemy import select

from services.plan_store.database import ProjectionDatabase
from services.plan_store.tables import PROJECTED

Rows = dict[str, list[tuple[Any, ...]]]


async def rows(database: ProjectionDatabase) -> Rows:
    """The rows of every projected table, ordered by primary key."""
    result: Rows = {}
    async with database.begin() as tx:
        for table in PROJECTED:
            query = select(table).order_by(*table.primary_key.columns)
            result[table.name] = [tuple(row) for row in await tx.execute(query)]
    return result
