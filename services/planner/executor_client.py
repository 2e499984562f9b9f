"""Requests to the executor. The planner waits while the executor is unavailable, and keeps its work alive."""

from operator import attrgetter

from pydantic import BaseModel

from parley.protocol.flows import FLOWS_LIST, FlowPage, ListFlows
from parley.protocol.tools import TOOLS_CHECK, TOOLS_LIST, CheckCalls, ListTools, ToolPage, Violations
from shared.bus import Bus, BusUnavailable
from shared.retry import retry_while_unavailable

TIMEOUT = 5.0  # seconds
MAX_SHOWN = 32
MAX_SHOWN_CALLS = 10  # turns come one after the other: what is missing here is found for a later one
MAX_QUERY = 5_000  # characters


@retry_while_unavailable(BusUnavailable)
async def ask_executor[Reply: BaseModel](bus: Bus, subject: str, request: BaseModel, reply: type[Reply]) -> Reply:
    """The executor's reply. Retries without a limit while the executor is unavailable."""
    answer = await bus.request(subject, request.model_dump_json().encode(), timeout=TIMEOUT)
    return reply.model_validate_json(answer, extra="allow")  # a newer executor may send more fields


class ToolClient:
    """Requests tools from the executor. `calls_only` leaves out tools that can only be steps of a plan."""

    def __init__(self, bus: Bus, *, calls_only: bool = False) -> None:
        self._bus = bus
        self._calls_only = calls_only

    async def listed(self, words: str, only: tuple[str, ...] = ()) -> ToolPage:
        """The tools of a prompt, those that match the words best, by name. `only` these, if it names any."""
        limit = MAX_SHOWN_CALLS if self._calls_only else MAX_SHOWN
        page = await self._offered(ListTools(query=words[:MAX_QUERY], limit=limit, only=only))
        # by name: providers keep what prompts begin with, also from one request to the next
        return page.model_copy(update={"tools": tuple(sorted(page.tools, key=attrgetter("name")))})

    async def search(self, words: str, used: tuple[str, ...] = (), only: tuple[str, ...] = ()) -> ToolPage:
        """The tools in use, and those that match the words. `only` these, if it names any."""
        limit = MAX_SHOWN + len(used)
        ask = {"query": words[:MAX_QUERY], "limit": limit, "names": used, "matching": True}
        return await self._offered(ListTools(only=only, **ask))

    async def all(self, only: tuple[str, ...] = ()) -> ToolPage:
        return await self._list(ListTools(only=only))

    async def check(self, ask: CheckCalls) -> tuple[str, ...]:
        """The reasons why these calls are forbidden; empty if they are allowed."""
        return (await ask_executor(self._bus, TOOLS_CHECK, ask, Violations)).violations

    async def _offered(self, ask: ListTools) -> ToolPage:
        return await self._list(ask.model_copy(update={"calls_only": self._calls_only, "offered": True}))

    async def _list(self, ask: ListTools) -> ToolPage:
        return await ask_executor(self._bus, TOOLS_LIST, ask, ToolPage)


class FlowClient:
    """Requests flows from the executor."""

    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def page(self, session_id: str) -> FlowPage:
        return await ask_executor(self._bus, FLOWS_LIST, ListFlows(session_id=session_id), FlowPage)
