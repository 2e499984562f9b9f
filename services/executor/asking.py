"""The flow `text_to_sql` in this process: its database, opened when it is needed, and accepted queries as hints."""

from collections.abc import Sequence

import structlog
from packs.retail.relations import TABLES

from flows.text_to_sql.flow import TextToSql
from shared.settings import Settings
from shared.store import Asks
from shared.store_api.library import LibraryPage
from sql.database import Database, open_database
from sql.hidden import Hidden
from sql.outcome import Limits

log = structlog.get_logger("executor")
HINTS = 3
ASKED = 5_000  # characters of the question


class Asking:
    """`close` it at the end. A database that cannot be opened is tried again by whoever needs it next."""

    def __init__(self, settings: Settings, store: Asks) -> None:
        self._settings = settings
        self._store = store
        self._database: Database | None = None

    def flow(self) -> TextToSql:
        return TextToSql(self.database, self.hints)

    async def database(self) -> Database:
        """Raises BadDatabase."""
        if self._database is None:
            self._database = opened(self._settings)
        return self._database

    async def hints(self, user: str, question: str) -> Sequence[tuple[str, str]]:
        """Questions like this one with their queries, which this person saved; none where plan_store is away."""
        try:
            wanted = {"user": user, "query": question[:ASKED], "saved": True, "limit": HINTS}
            found = LibraryPage.model_validate(await self._store.ask("library.similar", **wanted))
            return [(entry.question or entry.request, entry.sql) for entry in found.items if entry.sql]
        except Exception as error:  # whatever it is: a query can be written without
            log.warning("no_hints", error=repr(error)[:500])
            return ()

    async def close(self) -> None:
        if self._database:
            await self._database.aclose()


def opened(settings: Settings) -> Database:
    """The configured database; without one the retail store, of which only its tables with keys are shown."""
    own = settings.parley_sql_database_url
    only = () if own else tuple(table.name for table in TABLES)
    hidden = Hidden(names=Hidden.parse(settings.parley_sql_hidden).names, only=only)
    limits = Limits(rows=settings.parley_sql_max_rows, seconds=settings.parley_sql_timeout)
    return open_database(_plain(own or settings.retail_url), limits, hidden)


def _plain(url: str) -> str:
    """Without the driver that SQLAlchemy would be told."""
    scheme, colon, rest = url.partition(":")
    return f"{scheme.split('+')[0]}{colon}{rest}"
