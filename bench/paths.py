"""Are the right paths planned, and does a request end without one? `python -m bench.paths [-v]`

Each request of `tests/questions/paths.jsonl` is planned by the planner's own code over the flows that ship, in
a session that knows what the request before has made; it is right if the flows and nodes are among the expected
ones. Then a model plans that replies nonsense, and each request has to come to an answer through the full
graph, walked in this process over a copy of the store; which flow is meant the person says where they are
asked.
"""

import argparse
import asyncio
import logging
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import NamedTuple, cast

import structlog

from shared.flows import chains
from shared.settings import Settings
from tests.support.path_play import House, Rules, Talk, housed
from tests.support.questions import Request, load_requests

FULL = {"use_planning": False, "flow": "text_to_sql"}
EITHER = ("text_to_sql", "complaint_triage")  # of a request that may mean one or the other
DETAILS = "It is order #W9858457, and I am jude.olsen8225@example.com."
GIVEN = ("sql", "fix", "previous_question", "previous_sql", "previous_tables")

type Chain = list[tuple[str, list[str]]]


class Proposed(NamedTuple):
    """`chain`: flows and nodes, none if a person was asked. `read`: the state held what `given` says."""

    request: Request
    chain: Chain
    right: bool
    read: bool
    why: str


class Ended(NamedTuple):
    """How a request ended whose path could not be planned; `asked`: which flow is meant."""

    request: Request
    flow: str
    fallback: bool
    answered: bool
    asked: bool
    nodes: int
    answer: str


async def planned(house: House) -> list[Proposed]:
    """All requests, each up to its path."""
    return [await _planned(house, request) for request in load_requests()]


async def _planned(house: House, request: Request) -> Proposed:
    talk = await _after_earlier(house, request)
    session = await talk.says(request.request, until=("executing",))
    now = session.phase == "executing" and session.turn is not None and session.turn.path is not None
    path = session.turn.path if now and session.turn else None
    chain = chains(path.nodes) if path else []
    right = request.right(chain) and not (path and path.fallback)
    state = (await house.flows(talk.id)).states["text_to_sql"]
    read = all((state.get(name) or None) == request.given.get(name) for name in GIVEN)
    return Proposed(request, chain, right, read, session.turn.reasoning if now and session.turn else "")


async def by_fallback(house: House) -> list[Ended]:
    """All requests to their ends; `house` has a model whose paths are nonsense."""
    return [await _ended(house, request, flow) for request in load_requests() for flow in _flows(request)]


def _flows(request: Request) -> tuple[str, ...]:
    return tuple(walk.flow for walk in request.walks()[:1]) or EITHER


async def _ended(house: House, request: Request, flow: str) -> Ended:
    talk = await _after_earlier(house, request, flow, DETAILS)
    session = await talk.says(request.request)
    path = session.turn.path if session.turn else None
    fallback = bool(path and path.fallback and path.attempts and path.fallback_reason)
    made = session.phase == "resting" and session.rest_reason == "answered" and session.answer.confidence > 0
    nodes = sum(action.status == "finished" for action in session.turn.actions) if session.turn else 0
    asked = any("Which flow" in question for question in talk.questions)
    return Ended(request, flow, fallback, made, asked, nodes, session.answer.text or str(session.failure))


async def _after_earlier(house: House, request: Request, *replies: str) -> Talk:
    """A session in which the question before this request, if it has one, was answered with the SQL that is given."""
    talk = house.talk(*replies)
    if earlier := request.given.get("previous_question"):
        tables = [{"name": name} for name in cast(list[str], request.given["previous_tables"])]
        house.model.instead = {
            "classify_prompt": {"category": "data"},
            "rewrite_prompt": {"question": earlier},
            "get_relevant_tables": {"tables": tables},
            "generate_sql": {"kind": "query", "sql": request.given["previous_sql"]},
        }
        await talk.says(str(earlier), planning=FULL)
        house.model.instead = {}
    return talk


# --- printing


def kind(request: Request) -> str:
    return "a question" if request.question else " and then ".join(walk.flow for walk in request.walks())


def table(found: Sequence[Proposed]) -> list[str]:
    requests, right = (
        Counter(kind(one.request) for one in found),
        Counter(kind(one.request) for one in found if one.right),
    )
    lines = ["| expected | requests | right |", "| --- | ---: | ---: |"]
    lines += [f"| {name} | {number} | {right[name]} |" for name, number in requests.items()]
    return [*lines, f"| **all** | {len(found)} | {sum(right.values())} |"]


def told(one: Proposed) -> str:
    expected = [f"{walk.flow}: {' → '.join(walk.path)}" for walk in one.request.walks()] or ["a question"]
    got = [f"{flow}: {' → '.join(nodes)}" for flow, nodes in one.chain] or ["a question"]
    ways = f"  got:      {'; '.join(got)}\n  expected: {'; '.join(expected)}"
    return f"\n{one.request.id} {one.request.request}\n{ways}\n  {one.why}"


async def report(*, verbose: bool) -> None:
    found, ended = await in_a_copy(Rules(), planned), await in_a_copy(Rules(nonsense=True), by_fallback)
    print("\n".join(table(found)))
    read = sum(one.read for one in found)
    print(f"\nthe state held the statement or the question before, or neither, as it should: {read} of {len(found)}")
    for one in found:
        if not (one.right and one.read):
            print(told(one))
    right = sum(one.fallback and one.answered for one in ended)
    asked, nodes = sum(one.asked for one in ended), sum(one.nodes for one in ended) / len(ended)
    print(f"\nwith nonsense: {right} of {len(ended)} walks ended with an answer by fallback;")
    print(
        f"asked which flow: {asked}; nodes a walk: {nodes:.1f}; a request that may mean either flow is walked in both"
    )
    for end in ended:
        if verbose or not (end.fallback and end.answered):
            print(f"  {end.request.id} {end.flow}: fallback {end.fallback}, {end.nodes} nodes: {end.answer[:200]!r}")


async def in_a_copy[Found](model: Rules, measure: Callable[[House], Awaitable[Found]]) -> Found:
    """What is measured over a store of its own, with this model."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(parley_home=Path(folder), parley_sql_database_url="")
        async with housed(settings, model) as house:
            return await measure(house)


def main() -> None:
    parser = argparse.ArgumentParser(description="Share of requests whose path is planned as it should be.")
    parser.add_argument("-v", "--verbose", action="store_true", help="tell every walk by fallback")
    given = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    asyncio.run(report(verbose=given.verbose))


if __name__ == "__main__":
    main()
