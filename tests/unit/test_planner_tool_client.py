"""The planner's client of the executor's tools: which tools it asks for, and its retries."""

from typing import Any

import pytest

from parley.protocol.tools import ListTools, ToolPage, ToolSpec
from services.planner.executor_client import MAX_SHOWN, SHOW_ALL_UP_TO, ToolClient
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


@pytest.mark.parametrize(
    ("count", "requests", "listed"), [(SHOW_ALL_UP_TO, 1, SHOW_ALL_UP_TO), (SHOW_ALL_UP_TO + 1, 2, MAX_SHOWN + 1)]
)
async def test_the_client_lists_all_of_few_tools_and_the_matching_ones_of_many(
    count: int, requests: int, listed: int
) -> None:
    bus: Any = ExecutorBus(count)
    page = await ToolClient(bus).matching("w" * 9_000, ("tool_7",))
    assert (len(bus.asked), len(page.tools), page.total) == (requests, listed, count)
    if requests > 1:
        assert (len(bus.asked[-1].query), bus.asked[-1].names) == (5_000, ("tool_7",))


async def test_the_client_retries_while_the_executor_is_unavailable() -> None:
    bus: Any = ExecutorBus(2, away=1)
    assert (await ToolClient(bus).matching("x")).total == 2
