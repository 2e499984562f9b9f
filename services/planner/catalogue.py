"""The tools there are, as the executor tells them; while it is away the planner waits, and its work stays alive."""

import asyncio

import structlog

from shared.bus import Bus, BusDown
from shared.tools import TOOLS_LIST, ListTools, ToolPage

log = structlog.get_logger("planner")
FEW = 32  # with no more tools than these all are shown: the prompt's beginning stays the same, and is cached
SHOWN = 24
LONGEST_WAIT = 5.0


class Catalogue:
    def __init__(self, bus: Bus) -> None:
        self._bus = bus

    async def fitting(self, words: str, used: tuple[str, ...] = ()) -> ToolPage:
        """All tools if they are few; else those that fit the words, and those that are in use already."""
        everything = await self._list(ListTools(limit=FEW))
        if everything.total <= FEW:
            return everything
        return await self._list(ListTools(query=words[:5000], limit=SHOWN + len(used), names=used))

    async def _list(self, ask: ListTools) -> ToolPage:
        delay = 0.1
        while True:
            try:
                answer = await self._bus.request(TOOLS_LIST, ask.model_dump_json().encode(), timeout=5)
                return ToolPage.model_validate_json(answer)
            except BusDown as error:
                log.warning("waiting_for_executor", error=str(error))
            await asyncio.sleep(delay)
            delay = min(delay * 2, LONGEST_WAIT)
