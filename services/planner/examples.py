"""Examples for the planner: what this user accepted for similar requests in the same workflow."""

import json
from collections.abc import Awaitable, Callable, Sequence

import structlog

from parley.protocol.pages import LibraryEntry, LibraryPage
from services.planner.recall import Asks
from shared.domain.session import Session
from shared.domain.subjects import recall_subject

log = structlog.get_logger("planner")
MAX_EXAMPLES = 3
MAX_QUERY = 5_000  # characters of the request
Examples = Callable[[Session], Awaitable[Sequence[LibraryEntry]]]


async def similar_examples(store: Asks, session: Session) -> tuple[LibraryEntry, ...]:
    """Library entries with the path or steps that led to their answers.

    Returns none if recall is off or the request fails.
    """
    if not session.settings.recall:
        return ()
    try:
        query, workflow = session.words.request[:MAX_QUERY], session.workflow
        request = {"user": session.owner, "query": query, "workflow": workflow, "limit": MAX_EXAMPLES}
        request["subject"] = recall_subject(session)
        entries = LibraryPage.model_validate(await store.ask("library.similar", **request)).items
        return tuple(entry for entry in entries if entry.path or entry.steps)
    except Exception as error:  # the planner can plan without examples
        log.warning("no_examples", session=session.id, error=repr(error)[:500])
        return ()


async def no_examples(_: Session) -> Sequence[LibraryEntry]:
    """No examples, for a planner without a library."""
    return ()


def example_line(entry: LibraryEntry) -> str:
    """A request and how it was carried out, as one line."""
    steps = [step.model_dump(mode="json", exclude_defaults=True) for step in entry.steps]
    way = {"path": entry.path} if entry.path else {"steps": steps}
    return json.dumps({"request": entry.request, **way}, ensure_ascii=False)
