"""Examples for the planner: what this user accepted for similar requests in the same workflow."""

import json
import math
import time
from collections.abc import Awaitable, Callable, Sequence

import structlog
from cachetools import TTLCache

from parley.protocol.pages import LibraryEntry
from services.planner.recall import Asks
from shared.domain.session import Session
from shared.domain.subjects import recall_subject
from shared.store_api import SimilarPage

log = structlog.get_logger("planner")
MAX_EXAMPLES = 3
MAX_QUERY = 5_000  # characters of the request
EMPTY_SECONDS, MAX_EMPTY = 600.0, 10_000  # for which an empty library is remembered, and how many of them
PROJECTED_SECONDS = 10.0  # within which plan_store has surely projected a judgement
Examples = Callable[[Session], Awaitable[Sequence[LibraryEntry]]]


class SimilarExamples:
    """Finds library entries with the path or steps that led to their answers.

    Where a user's library has none to compare, plan_store is not asked again for `EMPTY_SECONDS`, unless somebody
    judges an answer meanwhile. `now` is the clock in seconds.
    """

    def __init__(self, store: Asks, now: Callable[[], float] = time.monotonic) -> None:
        self._store, self._now = store, now
        self._empty: TTLCache[tuple[str, str, str], bool] = TTLCache(MAX_EMPTY, EMPTY_SECONDS, timer=now)
        self._judged_at = -math.inf

    async def find(self, session: Session) -> tuple[LibraryEntry, ...]:
        """None if recall is off or the request fails."""
        library = (session.owner, session.workflow, recall_subject(session))
        if not session.settings.recall or library in self._empty:
            return ()
        try:
            page = await self._ask(session.words.request[:MAX_QUERY], *library)
        except Exception as error:  # the planner can plan without examples
            log.warning("no_examples", session=session.id, error=repr(error)[:500])
            return ()
        if page.compared == 0 and self._now() - self._judged_at > PROJECTED_SECONDS:
            self._empty[library] = True
        return tuple(entry for entry in page.items if entry.path or entry.steps)

    async def on_judged(self, subject: str, data: bytes) -> None:
        """Ask again, on `feed.*.*.answer.judged`: a library may have its first entry now, once it is projected."""
        self._judged_at = self._now()
        self._empty.clear()

    async def _ask(self, request: str, user: str, workflow: str, subject: str) -> SimilarPage:
        query = {"user": user, "query": request, "workflow": workflow, "limit": MAX_EXAMPLES, "subject": subject}
        return SimilarPage.model_validate(await self._store.ask("library.similar", **query))


async def no_examples(_: Session) -> Sequence[LibraryEntry]:
    """No examples, for a planner without a library."""
    return ()


def example_line(entry: LibraryEntry) -> str:
    """A request and how it was carried out, as one line."""
    steps = [step.model_dump(mode="json", exclude_defaults=True) for step in entry.steps]
    way = {"path": entry.path} if entry.path else {"steps": steps}
    return json.dumps({"request": entry.request, **way}, ensure_ascii=False)
