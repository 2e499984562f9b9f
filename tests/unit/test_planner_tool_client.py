"""The planner's client of the executor's tools: which tools it asks for, and its retries."""

from typing import Any

from parley.protocol.tools import ListTools, ToolPage, ToolSpec
from services.planner.tools import MAX_SHOWN, MAX_SHOWN_CALLS, ToolClient
from shared.bus import BusUnavailable


class ExecutorBus:
    """A bus whose executor does not answer the first `away` requests, then lists up to `count` tools."""

    def __init__(self, count: int, away: int = 0) -> None:
        self.asked: list[ListTools] = []
        self._away = away
        self._specs = tuple(
            ToolSpec(name=f"tool_{n}", description="", parameters={}, effect="read") for n in range(count)
        )

    async def request(self, _: str, data: bytes, **_more: Any) -> bytes:
        if self._away:
            self._away -= 1
            raise BusUnavailable("nobody answers")
        self.asked.append(ListTools.model_validate_json(data))
        limit = self.asked[-1].limit
        return ToolPage(tools=self._specs[:limit], total=len(self._specs)).model_dump_json().encode()


async def test_turns_list_fewer_tools_than_plans_because_another_turn_can_find_more() -> None:
    bus: Any = ExecutorBus(count=50)
    listed = [await ToolClient(bus, calls_only=calls).listed("w" * 9_000, ("a", "b")) for calls in (True, False)]
    assert [len(page.tools) for page in listed] == [MAX_SHOWN_CALLS, MAX_SHOWN]
    assert bus.asked[0] == ListTools(
        query="w" * 5_000, limit=MAX_SHOWN_CALLS, calls_only=True, offered=True, only=("a", "b")
    )


async def test_a_search_asks_for_the_tools_in_use_and_those_that_match() -> None:
    bus: Any = ExecutorBus(count=50)
    assert len((await ToolClient(bus).search("words", ("tool_7",))).tools) == MAX_SHOWN + 1
    assert bus.asked == [ListTools(query="words", limit=MAX_SHOWN + 1, names=("tool_7",), matching=True, offered=True)]


async def test_the_client_retries_while_the_executor_is_unavailable() -> None:
    bus: Any = ExecutorBus(2, away=1)
    assert (await ToolClient(bus).listed("x")).total == 2
