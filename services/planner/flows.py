"""The flows there are, as the executor tells them, and what was accepted for similar requests, as plan_store does."""

import structlog

from parley.protocol.flows import FLOWS_LIST, FlowPage, ListFlows
from parley.protocol.pages import LibraryEntry, LibraryPage
from services.planner.executor_client import ask_executor
from services.planner.recall import Asks
from shared.bus import Bus
from shared.domain.session import Session

log = structlog.get_logger("planner")
EXAMPLES = 3
ASKED = 5_000  # characters of the request


class KnownFlows:
    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def page(self, session_id: str) -> FlowPage:
        return await ask_executor(self._bus, FLOWS_LIST, ListFlows(session_id=session_id), FlowPage)


async def accepted(store: Asks, session: Session) -> tuple[LibraryEntry, ...]:
    """Paths whose answers this person accepted for similar requests; none where anything goes wrong."""
    try:
        wanted = {"user": session.owner, "query": session.words.request[:ASKED], "limit": EXAMPLES}
        found = LibraryPage.model_validate(await store.ask("library.similar", **wanted)).items
        return tuple(entry for entry in found if entry.path)  # an answer of another workflow has none
    except Exception as error:  # whatever it is: a path can be planned without
        log.warning("no_examples", session=session.id, error=repr(error)[:500])
        return ()
