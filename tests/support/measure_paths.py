"""Does the planner plan the right paths, and fall back if it cannot? `python -m tests.support.measure_paths [-v]`

The planner's own code plans each request of `tests/questions/paths.jsonl` over the built-in flows, in a session that
already has the outputs of the previous question. A path is right if its flows and nodes are among the expected ones.
Then a model that replies nonsense plans: each request has to reach an answer through the full graph, run in this
process over a copy of the store. The user names the flow if the planner asks.
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

from shared.flows import group_by_flow
from shared.settings import Settings
from tests.support.path_play import LocalServices, RuleModel, ScriptedSession, local_services
from tests.support.questions import Request, load_requests

FULL_GRAPH = {"use_planning": False, "flow": "text_to_sql"}
AMBIGUOUS_FLOWS = ("text_to_sql", "complaint_triage")  # for a request that fits both
DETAILS = "It is order #W9858457, and I am jude.olsen8225@example.com."
STATE_KEYS = ("sql", "fix", "previous_question", "previous_sql", "previous_tables")

type Chain = list[tuple[str, list[str]]]


class PlanningResult(NamedTuple):
    """`chain`: flows and nodes, empty if the planner asked a question.

    `has_expected_state`: the session's state held what the request's `given` says.
    """

    request: Request
    chain: Chain
    is_right: bool
    has_expected_state: bool
    reasoning: str


class FallbackResult(NamedTuple):
    """How a request ended whose path could not be planned. `asked_for_flow`: the planner asked which flow is meant."""

    request: Request
    flow: str
    used_fallback: bool
    was_answered: bool
    asked_for_flow: bool
    finished_nodes: int
    answer: str


async def plan_requests(house: LocalServices) -> list[PlanningResult]:
    """Run every request until its path is planned."""
    return [await _plan_request(house, request) for request in load_requests()]


async def _plan_request(house: LocalServices, request: Request) -> PlanningResult:
    talk = await _session_after_previous_question(house, request)
    session = await talk.says(request.request, until=("executing",))
    now = session.phase == "executing" and session.turn is not None and session.turn.path is not None
    path = session.turn.path if now and session.turn else None
    chain = group_by_flow(path.nodes) if path else []
    right = request.right(chain) and not (path and path.fallback)
    state = (await house.flows(talk.id)).states["text_to_sql"]
    read = all((state.get(name) or None) == request.given.get(name) for name in STATE_KEYS)
    return PlanningResult(request, chain, right, read, session.turn.reasoning if now and session.turn else "")


async def run_fallbacks(house: LocalServices) -> list[FallbackResult]:
    """Run every request to its end. The model of `house` must reply with unusable paths."""
    return [await _run_fallback(house, request, flow) for request in load_requests() for flow in _flows(request)]


def _flows(request: Request) -> tuple[str, ...]:
    return tuple(walk.flow for walk in request.walks()[:1]) or AMBIGUOUS_FLOWS


async def _run_fallback(house: LocalServices, request: Request, flow: str) -> FallbackResult:
    talk = await _session_after_previous_question(house, request, flow, DETAILS)
    session = await talk.says(request.request)
    path = session.turn.path if session.turn else None
    fallback = bool(path and path.fallback and path.attempts and path.fallback_reason)
    was_answered = session.phase == "resting" and session.rest_reason == "answered" and session.answer.confidence > 0
    nodes = sum(action.status == "finished" for action in session.turn.actions) if session.turn else 0
    asked_for_flow = any("Which flow" in question for question in talk.questions)
    return FallbackResult(
        request, flow, fallback, was_answered, asked_for_flow, nodes, session.answer.text or str(session.failure)
    )


async def _session_after_previous_question(house: LocalServices, request: Request, *replies: str) -> ScriptedSession:
    """A session in which the request's previous question, if any, was answered with the given SQL."""
    talk = house.talk(*replies)
    if earlier := request.given.get("previous_question"):
        tables = [{"name": name} for name in cast(list[str], request.given["previous_tables"])]
        house.model.instead = {
            "classify_prompt": {"category": "data"},
            "rewrite_prompt": {"question": earlier},
            "get_relevant_tables": {"tables": tables},
            "generate_sql": {"kind": "query", "sql": request.given["previous_sql"]},
        }
        await talk.says(str(earlier), planning=FULL_GRAPH)
        house.model.instead = {}
    return talk


# --- printing


def kind(request: Request) -> str:
    return "a question" if request.question else " and then ".join(walk.flow for walk in request.walks())


def table(planned: Sequence[PlanningResult]) -> list[str]:
    requests, right = (
        Counter(kind(path.request) for path in planned),
        Counter(kind(path.request) for path in planned if path.is_right),
    )
    lines = ["| expected | requests | right |", "| --- | ---: | ---: |"]
    lines += [f"| {name} | {number} | {right[name]} |" for name, number in requests.items()]
    return [*lines, f"| **all** | {len(planned)} | {sum(right.values())} |"]


def describe(path: PlanningResult) -> str:
    expected = [f"{walk.flow}: {' → '.join(walk.path)}" for walk in path.request.walks()] or ["a question"]
    planned = [f"{flow}: {' → '.join(nodes)}" for flow, nodes in path.chain] or ["a question"]
    ways = f"  got:      {'; '.join(planned)}\n  expected: {'; '.join(expected)}"
    return f"\n{path.request.id} {path.request.request}\n{ways}\n  {path.reasoning}"


async def print_report(*, verbose: bool) -> None:
    planned = await in_temporary_house(RuleModel(), plan_requests)
    fallbacks = await in_temporary_house(RuleModel(nonsense=True), run_fallbacks)
    print("\n".join(table(planned)))
    state_count = sum(path.has_expected_state for path in planned)
    print(f"\nthe state held the previous statement and question as expected: {state_count} of {len(planned)}")
    for path in planned:
        if not (path.is_right and path.has_expected_state):
            print(describe(path))
    right_count = sum(path.used_fallback and path.was_answered for path in fallbacks)
    asked_count, nodes = (
        sum(path.asked_for_flow for path in fallbacks),
        sum(path.finished_nodes for path in fallbacks) / len(fallbacks),
    )
    print(f"\nwith nonsense: {right_count} of {len(fallbacks)} walks ended with an answer by fallback;")
    print(f"asked which flow: {asked_count}; nodes a walk: {nodes:.1f}; a request that fits both flows is run in both")
    for end in fallbacks:
        if verbose or not (end.used_fallback and end.was_answered):
            nodes_and_answer = f"{end.finished_nodes} nodes: {end.answer[:200]!r}"
            print(f"  {end.request.id} {end.flow}: fallback {end.used_fallback}, {nodes_and_answer}")


async def in_temporary_house[Found](model: RuleModel, measure: Callable[[LocalServices], Awaitable[Found]]) -> Found:
    """Run a measurement over a temporary copy of the store, with this model."""
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(parley_home=Path(folder), parley_sql_database_url="")
        async with local_services(settings, model) as house:
            return await measure(house)


def main() -> None:
    parser = argparse.ArgumentParser(description="Share of requests whose path is planned as it should be.")
    parser.add_argument("-v", "--verbose", action="store_true", help="list every fallback")
    args = parser.parse_args()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR))
    asyncio.run(print_report(verbose=args.verbose))


if __name__ == "__main__":
    main()
