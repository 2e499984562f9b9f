"""Of two hundred tools the planner sees a few: are those among them that a request needs, and what does it save?"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import cast

from bench.many_tools import TOOLS
from bench.plays import CountedPlay, How, Request, prompt_tokens
from packs.retail.policy import RULES
from parley.protocol.tools import ToolPage, ToolSpec
from services.executor.requests import Requests
from services.executor.tools import Call, Fixed, RegisteredTool, Registry, Result
from services.planner.agentflow_prompt import brief
from services.planner.catalogue import Catalogue
from shared.bus import Bus
from shared.testing import InMemoryLog, InMemoryStore
from tests.support.retail_play import Played


@dataclass
class Shown:
    """Over many requests: how many of the tools that they need were shown for the first turn, and in what prompts."""

    requests: int = 0
    whole: int = 0
    needed: int = 0
    shown: int = 0
    tokens: int = 0
    tokens_of_all: int = 0


class NoBus:
    """What the planner asks, the executor answers, in one process."""

    def __init__(self, specs: Sequence[ToolSpec]) -> None:
        registry = Registry(Fixed(*(RegisteredTool(spec, partial(_never, spec.name)) for spec in specs)))
        self._requests = Requests(registry, InMemoryStore(InMemoryLog()))

    async def request(self, subject: str, data: bytes, **_: object) -> bytes:
        return await self._requests.list(subject, data)


async def _never(name: str, _: Call) -> Result:
    raise AssertionError(f"{name} is only listed here.")


def catalogue(specs: Sequence[ToolSpec] = TOOLS) -> Catalogue:
    """The planner's own, over these tools."""
    return Catalogue(cast(Bus, NoBus(specs)))


def of_one_server() -> Catalogue:
    """The same tools, and nothing tells which of them belong together."""
    return catalogue([spec.model_copy(update={"origin": "hub"}) for spec in TOOLS])


async def first_turns(requests: Sequence[Request], played: Sequence[Played], tools: Catalogue) -> Shown:
    """A request needs the changes that are right, and what was called on the way where all sixteen tools were shown."""
    found = Shown(len(requests))
    everything = ToolPage(tools=TOOLS, total=len(TOOLS), rules=RULES)
    for request, came in zip(requests, played, strict=True):
        session = CountedPlay(request, How()).session
        page = await tools.fitting(request["q"])
        needed = {call["name"] for call in request["agt"]} | {deed["tool"] for deed in came.deeds}
        shown = {spec.name for spec in page.tools}
        found.whole += needed <= shown
        found.needed += len(needed)
        found.shown += len(needed & shown)
        found.tokens += prompt_tokens(brief(session, page, ()))
        found.tokens_of_all += prompt_tokens(brief(session, everything, ()))
    return found
