"""The tools there are, as the executor tells them."""

from parley.protocol.tools import TOOLS_CHECK, TOOLS_LIST, CheckCalls, ListTools, ToolPage, Violations
from services.planner.executor_client import ask_executor
from shared.bus import Bus

FEW = 32  # with no more tools than these all are shown: the prompt's beginning stays the same, and is cached
SHOWN = 24


class Catalogue:
    """`calls_only`: without those that can only be steps of a plan."""

    def __init__(self, bus: Bus, *, calls_only: bool = False) -> None:
        self._bus = bus
        self._calls_only = calls_only

    async def fitting(self, words: str, used: tuple[str, ...] = (), only: tuple[str, ...] = ()) -> ToolPage:
        """All tools if they are few; else those that fit the words, and those that are in use already.

        `only`: none but these, if it names any.
        """
        everything = await self._list(ListTools(limit=FEW, calls_only=self._calls_only, only=only))
        if everything.total <= FEW:
            return everything
        shown = {"query": words[:5000], "limit": SHOWN + len(used), "names": used}
        return await self._list(ListTools(calls_only=self._calls_only, only=only, **shown))

    async def all(self, only: tuple[str, ...] = ()) -> ToolPage:
        return await self._list(ListTools(only=only))

    async def check(self, ask: CheckCalls) -> tuple[str, ...]:
        """Why these calls are forbidden; nothing where they are not."""
        return (await ask_executor(self._bus, TOOLS_CHECK, ask, Violations)).violations

    async def _list(self, ask: ListTools) -> ToolPage:
        return await ask_executor(self._bus, TOOLS_LIST, ask, ToolPage)
