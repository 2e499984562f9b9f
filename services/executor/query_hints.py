"""Hints for SQL generation: queries that the same user accepted for similar questions."""

from collections.abc import Sequence

import structlog

from shared.domain.workflows.flow import FLOW
from shared.store import StoreReader
from shared.store_api import SimilarPage

log = structlog.get_logger("executor")
MAX_HINTS = 3
WORKFLOW = FLOW.name  # the workflow whose answers contain queries
MAX_QUESTION = 5_000  # characters of the question


class QueryHints:
    """Requests hints from the plan store."""

    def __init__(self, store: StoreReader) -> None:
        self._store = store

    async def similar(self, user: str, question: str) -> Sequence[tuple[str, str]]:
        """Similar questions with the queries that this user saved; none if the request fails."""
        try:
            query = {
                "user": user,
                "query": question[:MAX_QUESTION],
                "workflow": WORKFLOW,
                "saved": True,
                "limit": MAX_HINTS,
            }
            page = SimilarPage.model_validate(await self._store.ask("library.similar", **query))
            return [(entry.question or entry.request, entry.sql) for entry in page.items if entry.sql]
        except Exception as error:  # a query can be written without hints
            log.warning("no_hints", error=repr(error)[:500])
            return ()
