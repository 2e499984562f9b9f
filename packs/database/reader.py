"""The database that questions are asked to, as Parley's settings name it; the guards are those of `sql`."""

from typing import Protocol

from packs.retail.relations import TABLES
from sql.database import Database, open_database
from sql.hidden import Hidden
from sql.outcome import Limits


class DatabaseSettings(Protocol):
    """What of Parley's settings is read here. URLs are SQLAlchemy's."""

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


def opened(settings: DatabaseSettings) -> Database:
    """The configured database; without one the retail store, of which only its tables with keys are shown.

    Raises BadDatabase.
    """
    own = settings.parley_sql_database_url
    only = () if own else tuple(table.name for table in TABLES)
    hidden = Hidden(names=Hidden.parse(settings.parley_sql_hidden).names, only=only)
    limits = Limits(rows=settings.parley_sql_max_rows, seconds=settings.parley_sql_timeout)
    return open_database(_plain(own or settings.retail_url), limits, hidden)


def _plain(url: str) -> str:
    """Without the driver that SQLAlchemy would be told."""
    scheme, colon, rest = url.partition(":")
    return f"{scheme.split('+')[0]}{colon}{rest}"
