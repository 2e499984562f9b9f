"""The database as nodes meet it: opened when it is needed, and a node that fails where it is away."""

from collections.abc import Awaitable, Callable

from parley.flow import NodeFailed
from sql.database import BadDatabase, Checked, Database, SqlError
from sql.outcome import Table
from sql.schema import Schema

type Opens = Callable[[], Awaitable[Database]]


class Reading:
    """A database that is away is no trouble of a query, nothing that is rewritten would help: NodeFailed is raised."""

    def __init__(self, opens: Opens) -> None:
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

    async def check(self, sql: str) -> Checked:
        database = await self._database()
        try:
            checked = await database.check(sql)
        except SqlError as error:
            checked = Checked(ok=False, kind=error.kind, error=error.message)
        _away(checked.kind, checked.error)
        return checked

    async def run(self, sql: str) -> tuple[Table | None, str]:
        """The result, or why there is none."""
        database = await self._database()
        try:
            return await database.run(sql), ""
        except SqlError as error:
            _away(error.kind, error.message)
            return None, error.message

    async def _database(self) -> Database:
        try:
            return await self._opens()
        except BadDatabase as error:
            raise NodeFailed(str(error)) from error


def _away(kind: str, message: str) -> None:
    if kind == "unavailable":
        raise NodeFailed(f"{message} Ask again in a while.")
