"""Requests to the executor: lists of its tools, and previews of calls."""

from typing import Any

import pytest

from packs.program import pack as program
from packs.retail.pack import Retail
from packs.retail.store import Worlds
from parley import Pack
from parley.protocol.tools import ListTools, Preview, PreviewCall, ToolPage, ToolSpec
from services.executor.sources.packs import PackSource
from services.executor.tool_requests import ToolRequests, rank
from services.executor.tools import RegisteredTool, Registry, StaticSource
from shared.domain.session import Session
from shared.testing import InMemoryLog, InMemoryStore
from tests.support.executor_bench import returning
from tests.support.store import STORE

SPECS = [
    ToolSpec(name="cancel_order", description="Cancel a pending order", parameters={}, effect="write"),
    ToolSpec(name="find_user", description="Find a customer by email", parameters={}, effect="read"),
    ToolSpec(name="weather", description="Tomorrow's weather", parameters={"properties": {"city": {}}}, effect="read"),
]


@pytest.mark.parametrize(
    ("words", "first"),
    [("please cancel my orders", "cancel_order"), ("customers' emails", "find_user"), ("which city?", "weather")],
)
def test_the_tools_that_fit_the_words_come_first(words: str, first: str) -> None:
    (best, *_), _ = rank(SPECS, words)
    assert best.name == first


@pytest.mark.parametrize("words", ["zzz", "", "ok, do that for me, please", "今日は"])
def test_tools_are_sorted_by_name_if_no_word_fits(words: str) -> None:
    ranked, matching = rank(list(reversed(SPECS)), words)
    assert (matching, [spec.name for spec in ranked]) == ([], ["cancel_order", "find_user", "weather"])
    assert rank([], "any") == ([], [])


async def listed(requests: ToolRequests, **ask: Any) -> ToolPage:
    return ToolPage.model_validate_json(await requests.list("", ListTools(**ask).model_dump_json().encode()))


async def test_a_list_has_the_named_tools_and_the_best_matches() -> None:
    registry = Registry(StaticSource(*(RegisteredTool(spec, returning()) for spec in SPECS)))
    pack = Pack("away", rules=["Be kind."])
    pack.fingerprint = "print"
    requests = ToolRequests(registry, InMemoryStore(InMemoryLog()), (pack,))
    page = await listed(requests, query="cancel", limit=2, names=("weather",))
    assert ([spec.name for spec in page.tools], page.total, page.world) == (["weather", "cancel_order"], 3, "print")
    assert (page.rules, page.others) == ((), ("find_user",))
    found = await listed(requests, query="cancel", limit=9, names=("weather",), matching=True)
    assert found.tools == page.tools, "not the others of its origin"
    assert len((await listed(requests)).tools) == 3
    assert len(ToolPage.model_validate_json(await requests.list("", b"nonsense")).tools) == 3


async def test_planners_are_not_told_of_tools_that_need_what_no_model_knows() -> None:
    source = PackSource((Retail(Worlds("sqlite+aiosqlite://", lambda: STORE)), program.pack))
    requests = ToolRequests(Registry(source), InMemoryStore(InMemoryLog()))
    everything, offered = [
        {spec.name for spec in (await listed(requests, offered=offered)).tools} for offered in (False, True)
    ]
    assert everything - offered == {"think", "run_code"}


async def test_a_preview_comes_from_the_tool_itself() -> None:
    async def looks(_: Session, arguments: Any) -> Preview:
        return Preview(known=True, error=f"no {arguments['n']}")

    tools = tuple(RegisteredTool(spec, returning(), looks if spec.name == "cancel_order" else None) for spec in SPECS)
    requests = ToolRequests(Registry(StaticSource(*tools)), InMemoryStore(InMemoryLog()))

    async def preview(name: str) -> Preview:
        ask = PreviewCall(session_id="s", tool=name, arguments={"n": 1})
        return Preview.model_validate_json(await requests.preview("", ask.model_dump_json().encode()))

    assert await preview("cancel_order") == Preview(known=True, error="no 1")
    assert await preview("weather") == Preview(known=True)
    assert "no tool" in (await preview("none")).error
    assert "no call" in Preview.model_validate_json(await requests.preview("", b"{}")).error
