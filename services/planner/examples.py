"""Examples for the planner: what this person accepted for similar requests in the same workflow."""

import json
from collections.abc import Awaitable, Callable, Sequence

import structlog

from parley.protocol.pages import LibraryEntry, LibraryPage
from services.planner.recall import Asks
from shared.domain.session import Session

log = structlog.get_logger("planner")
EXAMPLES = 3
ASKED = 5_000  # characters of the request
Examples = Callable[[Session], Awaitable[Sequence[LibraryEntry]]]


async def accepted(store: Asks, session: Session) -> tuple[LibraryEntry, ...]:
    """Entries that say how their answers were come by; none where recall is off, or anything goes wrong."""
    if not session.settings.recall:
        return ()
    try:
        query, workflow = session.words.request[:ASKED], session.workflow
        wanted = {"user": session.owner, "query": query, "workflow": workflow, "limit": EXAMPLES}
        found = LibraryPage.model_validate(await store.ask("library.similar", **wanted)).items
        return tuple(entry for entry in found if entry.path or entry.steps)
    except Exception as error:  # whatever it is: a plan can be made without
        log.warning("no_examples", session=session.id, error=repr(error)[:500])
        return ()


async def no_examples(_: Session) -> Sequence[LibraryEntry]:
    """For a planner that knows no library."""
    return ()


def example(entry: LibraryEntry) -> str:
    """A request and how it was carried out, as one line."""
    steps = [step.model_dump(mode="json", exclude_defaults=True) for step in entry.steps]
    way = {"path": entry.path} if entry.path else {"steps": steps}
    return json.dumps({"request": entry.request, **way}, ensure_ascii=False)
