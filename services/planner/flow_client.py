"""The executor's flows, as the planner requests them."""

from parley.protocol.flows import FLOWS_LIST, FlowPage, ListFlows
from services.planner.executor_client import ask_executor
from shared.bus import Bus


class FlowClient:
    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def page(self, session_id: str) -> FlowPage:
        return await ask_executor(self._bus, FLOWS_LIST, ListFlows(session_id=session_id), FlowPage)
