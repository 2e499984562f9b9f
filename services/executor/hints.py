"""What questions get as hints: accepted queries of the same person."""

from collections.abc import Sequence

import structlog

from parley.protocol.pages import LibraryPage
from shared.domain.workflows.flow import FLOW
from shared.store import Asks

log = structlog.get_logger("executor")
HINTS = 3
WORKFLOW = FLOW.name  # whose answers have queries
ASKED = 5_000  # characters of the question


class Hints:
    """Those that plan_store finds."""

    def __init__(self, store: Asks) -> None:
        self._store = store

    async def similar(self, user: str, question: str) -> Sequence[tuple[str, str]]:
        """Questions like this one with their queries, which this person saved; none where plan_store is away."""
        try:
            wanted = {"user": user, "query": question[:ASKED], "workflow": WORKFLOW, "saved": True, "limit": HINTS}
            found = LibraryPage.model_validate(await self._store.ask("library.similar", **wanted))
            return [(entry.question or entry.request, entry.sql) for entry in found.items if entry.sql]
        except Exception as error:  # whatever it is: a query can be written without
            log.warning("no_hints", error=repr(error)[:500])
            return ()
