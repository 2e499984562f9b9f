"""Database access for nodes: opens the database on demand, and fails the node if it is unavailable."""

from collections.abc import Awaitable, Callable

from parley.flow import NodeFailed
from sql.database import BadDatabase, QueryCheck, ReadOnlyDatabase, SqlError
from sql.outcome import QueryResult
from sql.schema import Schema

type OpenDatabase = Callable[[], Awaitable[ReadOnlyDatabase]]


class DatabaseAccess:
    """Reads the schema and checks and runs queries.

    Raises NodeFailed if the database is unavailable, because rewriting the query would not help.
    """

    def __init__(self, opens: OpenDatabase) -> None:
        self._opens = opens

    async def schema(self) -> Schema:
        database = await self._database()
        try:
            schema = await database.schema()
        except SqlError as error:
            raise NodeFailed(error.message) from error
        if not schema.tables:
            raise NodeFailed("The database has no tables that may be read: look at its URL and at PARLEY_SQL_HIDDEN.")
        return schema

    async def check(self, sql: str) -> QueryCheck:
        database = await self._database()
        try:
            checked = await database.check(sql)
        except SqlError as error:
            checked = QueryCheck(ok=False, kind=error.kind, error=error.message)
        _raise_if_unavailable(checked.kind, checked.error)
        return checked

    async def run(self, sql: str) -> tuple[QueryResult | None, str]:
        """The result, or None and the reason."""
        database = await self._database()
        try:
            return await database.run(sql), ""
        except SqlError as error:
            _raise_if_unavailable(error.kind, error.message)
            return None, error.message

    async def _database(self) -> ReadOnlyDatabase:
        try:
            return await self._opens()
        except BadDatabase as error:
            raise NodeFailed(str(error)) from error


def _raise_if_unavailable(kind: str, message: str) -> None:
    if kind == "unavailable":
        raise NodeFailed(f"{message} Ask again in a while.")
