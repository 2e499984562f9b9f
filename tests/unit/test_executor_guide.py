"""The executor's answers about flows while the session cannot be loaded."""

from flows.loading import Flows
from parley.protocol.flows import FlowPage, ListFlows
from services.executor.flow import PathGuide
from services.executor.sources.nodes import NodeTools
from services.executor.tools import Registry
from shared.log import SessionAtPosition
from shared.store import StoreUnavailable


class UnavailableStore:
    async def load(self, session_id: str, *, at_least: int = 0, version: int | None = None) -> SessionAtPosition:
        raise StoreUnavailable("The plan store does not answer.")


async def test_what_a_session_would_begin_with_is_not_guessed() -> None:
    guide = PathGuide(NodeTools(Flows([]), Registry()), UnavailableStore())
    about_a_session = ListFlows(session_id="s").model_dump_json().encode()
    assert await guide.list("flows.list", about_a_session) is None, "no answer: whoever asks, asks again"
    page = await guide.list("flows.list", b"")
    assert page is not None
    assert [flow.name for flow in FlowPage.model_validate_json(page).flows] == ["complaint_triage"]
