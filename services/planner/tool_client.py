"""The executor's tools, as the planner requests them."""

from parley.protocol.tools import TOOLS_CHECK, TOOLS_LIST, CheckCalls, ListTools, ToolPage, Violations
from services.planner.executor_client import ask_executor
from shared.bus import Bus

SHOW_ALL_UP_TO = 32  # with so few tools all are shown: the prompt keeps its prefix, which the model caches
MAX_SHOWN = 24


class ToolClient:
    """Requests tools from the executor. `calls_only` leaves out tools that can only be steps of a plan."""

    def __init__(self, bus: Bus, *, calls_only: bool = False) -> None:
        self._bus = bus
        self._calls_only = calls_only

    async def matching(self, words: str, used: tuple[str, ...] = (), only: tuple[str, ...] = ()) -> ToolPage:
        """All tools if they are few; otherwise those that match the words, and those already in use.

        `only` restricts the result to these tools, if it names any.
        """
        page = await self._list(ListTools(limit=SHOW_ALL_UP_TO, calls_only=self._calls_only, only=only))
        if page.total <= SHOW_ALL_UP_TO:
            return page
        request = {"query": words[:5000], "limit": MAX_SHOWN + len(used), "names": used}
        return await self._list(ListTools(calls_only=self._calls_only, only=only, **request))

    async def all(self, only: tuple[str, ...] = ()) -> ToolPage:
        return await self._list(ListTools(only=only))

    async def check(self, ask: CheckCalls) -> tuple[str, ...]:
        """The reasons why these calls are forbidden; empty if they are allowed."""
        return (await ask_executor(self._bus, TOOLS_CHECK, ask, Violations)).violations

    async def _list(self, ask: ListTools) -> ToolPage:
        return await ask_executor(self._bus, TOOLS_LIST, ask, ToolPage)
