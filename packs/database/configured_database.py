"""Opens the database for questions, as Parley's settings configure it."""

from typing import Protocol

from packs.retail.relations import TABLES
from shared.environment import environment_variable
from sql.database import ReadOnlyDatabase, open_database
from sql.hidden import Hidden
from sql.outcome import QueryLimits


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
