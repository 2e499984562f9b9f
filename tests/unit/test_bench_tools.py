"""Of two hundred tools those are shown that a request needs, though it names few of them."""

import asyncio
from functools import cache
from typing import Any

import pytest

from bench.many_tools import TOOLS
from bench.plays import How, bill, requests_of
from bench.recommended import catalogue, first_turns, of_one_server
from services.executor.ranking import best
from services.planner.catalogue import SHOWN

OPEN = "retail_open.jsonl"
FEW = cache(lambda: bill(OPEN, How()))
ENOUGH = 0.95


def first(query: str, count: int = SHOWN) -> list[str]:
    return [spec.name for spec in best(TOOLS, query)[:count]]


def test_there_are_two_hundred_and_no_two_of_one_name() -> None:
    assert len({spec.name for spec in TOOLS}) == len(TOOLS) == 200


def test_open_requests_find_the_tools_they_need() -> None:
    shown = asyncio.run(first_turns(requests_of(OPEN), FEW().played, catalogue()))
    assert shown.shown >= ENOUGH * shown.needed
    assert shown.whole >= ENOUGH * shown.requests
    assert shown.tokens <= 0.25 * shown.tokens_of_all


def test_where_nothing_tells_what_belongs_together_the_planner_asks_for_more() -> None:
    hub, few = bill(OPEN, How(tools=of_one_server())), FEW()
    assert (hub.solved, hub.calls["TurnReply"] > few.calls["TurnReply"]) == (few.solved, True)


@pytest.mark.parametrize(
    ("query", "tools"),
    [
        ("Cancel the meeting with Bob and send him a message.", {"calendar__cancel_meeting", "mail__modify_message"}),
        ("Turn the lamp in the kitchen blue.", {"home__find_lamp", "home__modify_lamp"}),
        ("Which pull requests are open, and did the build pass?", {"code__find_pull_request", "code__find_build"}),
    ],
)
def test_tools_of_other_servers_are_found_as_well(query: str, tools: Any) -> None:
    assert tools <= set(first(query))


def test_a_server_is_found_whole() -> None:
    assert set(first("Change the colour of the lamp", 8)) == {one.name for one in TOOLS if one.origin == "home"}


@pytest.mark.parametrize(("value", "tool"), [("ann@example.com", "find_user_id_by_email"), ("80201", "_by_name_zip")])
def test_a_value_is_called_by_its_name(value: str, tool: str) -> None:
    assert tool in " ".join(first(f"Where is it? {value}"))
    assert tool not in " ".join(first("Where is it?"))
