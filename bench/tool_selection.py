"""Recall of the tool selection: does the planner see the tools it needs out of two hundred, and what does that save?"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from bench.many_tools import TOOLS
from bench.request_costs import CountedPlay, Request, Variant, prompt_tokens
from packs.retail.policy import RULES
from parley.protocol.tools import ToolPage, ToolSpec
from services.executor.tool_requests import ToolRequests
from services.executor.tools import RegisteredTool, Registry, StaticSource, ToolInvocation, ToolResult
from services.planner.agentflow_prompt import build_prompt
from services.planner.tool_client import ToolClient
from shared.bus import Bus
from shared.testing import InMemoryLog, InMemoryStore
from tests.support.retail_play import PlayResult


@dataclass
class SelectionResult:
    """Tools selected for the first turn of many requests, and the size of the prompts.

    `complete`: requests that saw every tool they need. `tokens_with_all`: of prompts that list all two hundred tools.
    """

    requests: int = 0
    complete: int = 0
    needed: int = 0
    shown: int = 0
    tokens: int = 0
    tokens_with_all: int = 0


class InProcessBus:
    """Passes the planner's requests to the executor's handler in this process."""

    def __init__(self, specs: Sequence[ToolSpec]) -> None:
        registry = Registry(StaticSource(*(RegisteredTool(spec, partial(_never_called, spec.name)) for spec in specs)))
        self._requests = ToolRequests(registry, InMemoryStore(InMemoryLog()))

    async def request(self, subject: str, data: bytes, **_: object) -> bytes:
        return await self._requests.list(subject, data)


async def _never_called(name: str, _: ToolInvocation) -> ToolResult:
    raise AssertionError(f"{name} is only listed here.")


def tool_catalogue(specs: Sequence[ToolSpec] = TOOLS) -> ToolClient:
    """The planner's catalogue over these tools."""
    return ToolClient(cast(Bus, InProcessBus(specs)))


def single_server_catalogue() -> ToolClient:
    """The same tools as if all came from one server, so that the origin does not group them."""
    return tool_catalogue([spec.model_copy(update={"origin": "hub"}) for spec in TOOLS])


async def measure_selection(
    requests: Sequence[Request], played: Sequence[PlayResult], tools: ToolClient
) -> SelectionResult:
    """Compare the selected tools with the needed ones.

    A request needs the tools of its expected changes and those called when it was played with the store's sixteen.
    """
    result = SelectionResult(len(requests))
    everything = ToolPage(tools=TOOLS, total=len(TOOLS), rules=RULES)
    for request, run in zip(requests, played, strict=True):
        session = CountedPlay(request, Variant()).session
        page = await tools.matching(request["q"])
        needed = {call["name"] for call in request["agt"]} | {deed["tool"] for deed in run.deeds}
        page_tools = {spec.name for spec in page.tools}
        result.complete += needed <= page_tools
        result.needed += len(needed)
        result.shown += len(needed & page_tools)
        result.tokens += prompt_tokens(build_prompt(session, page, ()))
        result.tokens_with_all += prompt_tokens(build_prompt(session, everything, ()))
    return result
