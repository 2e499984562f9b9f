"""Three tools over the database that the flow `text_to_sql` asks, with the same guards and limits; and its opening."""

from typing import Annotated, Any, Protocol

from pydantic import BaseModel, ConfigDict, Field

from packs.retail.relations import TABLES
from parley import Context, Failed, Pack, Refused, Tool
from shared.environment import environment_variable
from sql.database import BadDatabase, ReadOnlyDatabase, SqlError, open_database
from sql.outcome import QueryLimits, QueryResult
from sql.schema import Dialect, Hidden, Schema, TableInfo

CONFIRM = "this is the SQL that will run"
MAX_RESULT = 200_000  # bytes of a result in its event: more than the query limits allow
PROMPT = (
    "For questions about data in the database: list_tables tells which tables there are, describe_tables what they "
    "hold, and query_database answers one read-only SQL query over them."
)


class DatabaseSettings(Protocol):
    """The settings that are read here. URLs are SQLAlchemy's."""

    @property
    def parley_sql_database_url(self) -> str: ...

    @property
    def parley_sql_hidden(self) -> str: ...

    @property
    def parley_sql_max_rows(self) -> int: ...

    @property
    def parley_sql_timeout(self) -> float: ...

    @property
    def retail_url(self) -> str: ...


def open_configured(settings: DatabaseSettings) -> ReadOnlyDatabase:
    """The configured database; by default the retail store, restricted to its relational tables.

    Raises BadDatabase.
    """
    url = settings.parley_sql_database_url
    only = () if url else tuple(table.name for table in TABLES)
    hidden = Hidden(names=Hidden.parse(settings.parley_sql_hidden).names, only=only)
    limits = QueryLimits(rows=settings.parley_sql_max_rows, seconds=settings.parley_sql_timeout)
    return open_database(_plain(url or settings.retail_url), limits, hidden, environment_variable("TZ"))


def _plain(url: str) -> str:
    """The URL without SQLAlchemy's driver name."""
    scheme, colon, rest = url.partition(":")
    return f"{scheme.split('+')[0]}{colon}{rest}"


class ListTables(BaseModel):
    model_config = ConfigDict(extra="forbid")


class DescribeTables(BaseModel):
    model_config = ConfigDict(extra="forbid")

    tables: Annotated[list[str], Field(description="Names from list_tables.", min_length=1, max_length=20)]


class QueryDatabase(BaseModel):
    model_config = ConfigDict(extra="forbid")

    sql: Annotated[
        str,
        Field(
            description="One SELECT statement, of tables and columns that there are.",
            min_length=1,
            json_schema_extra={"x-kind": "sql"},
        ),
    ]


class TableName(BaseModel):
    """`rows`: about how many there are, if that is known."""

    name: str
    comment: str
    rows: int | None


class TableList(BaseModel):
    dialect: Dialect
    tables: list[TableName]


class TableDescriptions(BaseModel):
    """Tables with their columns; what is false or empty of one is left out."""

    tables: list[TableInfo]


class DatabasePack(Pack):
    """Opens the database when it is first needed; after a failure the next call tries again."""

    def __init__(self) -> None:
        super().__init__("database", self._tools(), prompt=PROMPT)
        self._settings: DatabaseSettings | None = None
        self._database: ReadOnlyDatabase | None = None

    async def open(self, settings: DatabaseSettings) -> None:
        self._settings = settings

    async def close(self) -> None:
        if self._database:
            await self._database.aclose()

    async def database(self) -> ReadOnlyDatabase:
        """The open database. Raises BadDatabase."""
        if self._settings is None:
            raise RuntimeError("open() the pack first")
        if self._database is None:
            self._database = open_configured(self._settings)
        return self._database

    def _tools(self) -> tuple[Tool[Any], ...]:
        return (
            Tool(
                name="list_tables",
                arguments=ListTables,
                run=self._list,
                description="The tables of the database: name, what it is for, and about how many rows.",
                returns=TableList,
                quiet=True,
            ),
            Tool(
                name="describe_tables",
                arguments=DescribeTables,
                run=self._describe,
                description="The columns of these tables: type, keys, references, comments and sample values.",
                returns=TableDescriptions,
                quiet=True,
            ),
            Tool(
                name="query_database",
                arguments=QueryDatabase,
                run=self._query,
                description="Run one read-only SQL query, within limits, and return its rows.",
                confirm=CONFIRM,
                returns=QueryResult,
                seconds=900,  # the query limits end it much earlier
                largest=MAX_RESULT,
            ),
        )

    async def _list(self, _: ListTables, __: Context) -> TableList:
        schema = await self._schema()
        tables = [TableName(name=table.name, comment=table.comment, rows=table.rows) for table in schema.tables]
        return TableList(dialect=schema.dialect, tables=tables)

    async def _describe(self, names: DescribeTables, _: Context) -> object:
        schema = await self._schema()
        if missing := [name for name in names.tables if schema.table(name) is None]:
            raise Refused(f"there is no table {', '.join(missing)}; list_tables lists the tables")
        return {"tables": [table.line() for table in schema.only(names.tables).tables]}

    async def _query(self, query: QueryDatabase, _: Context) -> QueryResult:
        try:
            return await (await self.database()).run(query.sql)
        except BadDatabase as error:
            raise Failed(str(error)) from error
        except SqlError as error:
            if error.kind == "unavailable":
                raise Failed(f"{error.message} Ask again in a while.") from error
            raise Refused(error.message) from error

    async def _schema(self) -> Schema:
        try:
            return await (await self.database()).schema()
        except BadDatabase as error:
            raise Failed(str(error)) from error
        except SqlError as error:
            raise Failed(error.message) from error
