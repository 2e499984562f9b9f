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


async def test_the_flows_of_a_session_that_cannot_be_loaded_get_no_answer() -> None:
    guide = PathGuide(NodeTools(Flows([]), Registry()), UnavailableStore())
    request = ListFlows(session_id="s").model_dump_json().encode()
    assert await guide.list("flows.list", request) is None, "no answer, so the caller repeats its request"
    page = await guide.list("flows.list", b"")
    assert page is not None
    assert [flow.name for flow in FlowPage.model_validate_json(page).flows] == ["complaint_triage"]
