"""Plans the path requests of `tests/questions/paths.jsonl`, and runs them with a model that plans nonsense.

The planner's own code plans each request over the built-in flows, in a session that already has the outputs of the
previous question. With nonsense each request has to reach an answer through the full graph, run in this process over a
copy of the store. The user names the flow if the planner asks.
"""

from typing import NamedTuple, cast

from shared.flows import group_by_flow
from tests.support.path_play import LocalServices, ScriptedSession
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
    has_expected_state: bool


class FallbackResult(NamedTuple):
    """How a request ended whose path could not be planned."""

    request: Request
    flow: str
    used_fallback: bool
    was_answered: bool
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
    state = (await house.flows(talk.id)).states["text_to_sql"]
    read = all((state.get(name) or None) == request.given.get(name) for name in STATE_KEYS)
    return PlanningResult(request, chain, read)


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
    return FallbackResult(request, flow, fallback, was_answered, session.answer.text or str(session.failure))


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
