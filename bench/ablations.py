"""What does each part of Parley add to a plain agent loop? `python -m bench.ablations`

Plays the open requests and the phrases with and without each part, and prints Markdown tables. The numbers are counts
(turns, calls of the rehearsal model, tokens as it counts them), except for one pair of times.
"""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from bench import many_tools, parallel_reads, recall_precision, tool_selection
from bench.request_costs import FILES, Costs, Variant, costs_of, requests_of
from parley.events.values import Quality
from tests.unit.test_turn_prompt_growth import many_requests, one_read_a_turn, one_request, played

OPEN_REQUESTS = FILES[0]
LEVELS: tuple[Quality, ...] = ("economy", "balanced", "thorough")
Row = Sequence[Any]


def parallel_calls() -> Iterator[Row]:
    yield "Calls side by side, a solved request", "as planned", "one call a turn", "ratio"
    for name in FILES:
        planned, single = costs_of(name, Variant()), costs_of(name, Variant(one_call=True))
        yield f"{name}: solved", planned.solved_share, single.solved_share, ""
        yield f"{name}: turns", *_compare(planned.turns, single.turns, planned, single)
        yield f"{name}: model calls", *_compare(planned.calls.total(), single.calls.total(), planned, single)
        yield f"{name}: tokens", *_compare(planned.tokens, single.tokens, planned, single)
    together, in_turn = asyncio.run(parallel_reads.medians())
    reads = f"{parallel_reads.READ_COUNT} reads of {parallel_reads.READ_SECONDS * 1000:.0f} ms: ms"
    yield reads, f"{together:.0f}", f"{in_turn:.0f}", f"{together / in_turn:.2f}"


def _compare(our_total: int, baseline_total: int, ours: Costs, baseline: Costs) -> tuple[str, str, str]:
    return (
        ours.per_solved_request(our_total),
        baseline.per_solved_request(baseline_total),
        f"{(our_total / ours.solved) / (baseline_total / baseline.solved):.2f}",
    )


def recall_of_sessions() -> Iterator[Row]:
    earlier, queries = FILES
    costs = costs_of(earlier, Variant())
    result = asyncio.run(recall_precision.measure_recall(requests_of(earlier), costs.played, requests_of(queries)))
    yield "Earlier sessions as hints", ""
    yield f"queries over {recall_precision.SESSION_COUNT} sessions", result.queries
    yield "recalled, of three each", f"{result.recalled} of {3 * result.queries}"
    yield "of the same kind", f"{result.same_kind / result.recalled:.0%}"
    yield "of the same kind by chance", f"{result.chance_precision:.0%}"
    yield "queries that recall nothing", f"{result.without_match / result.queries:.0%}"
    yield "earlier sessions with a verdict to learn from", f"{costs.with_lesson} of {costs.requests}"
    yield "first prompt with three, to that without", f"{result.tokens_with / result.tokens_without:.2f}"


def tool_selection_table() -> Iterator[Row]:
    yield f"{len(many_tools.TOOLS)} tools", "of 24 servers", "of one server"
    every = [request for name in FILES for request in requests_of(name)]
    played = [result for name in FILES for result in costs_of(name, Variant()).played]
    both = tool_selection.tool_catalogue(), tool_selection.single_server_catalogue()
    first = [asyncio.run(tool_selection.measure_selection(every, played, tools)) for tools in both]
    yield "needed tools that are shown", *(f"{result.shown / result.needed:.1%}" for result in first)
    yield "requests with all they need", *(f"{result.complete / result.requests:.1%}" for result in first)
    yield "first prompt, to one with all tools", *(f"{result.tokens / result.tokens_with_all:.2f}" for result in first)
    few = _planner_calls(costs_of(OPEN_REQUESTS, Variant()))
    costs = [costs_of(OPEN_REQUESTS, Variant(tools=tools)) for tools in both]
    yield f"{OPEN_REQUESTS}: solved", *(result.solved_share for result in costs)
    yield (
        f"{OPEN_REQUESTS}: planner calls, to those with 16 tools",
        *(f"{_planner_calls(result) / few:.2f}" for result in costs),
    )


def _planner_calls(costs: Costs) -> float:
    return costs.calls["TurnReply"] / costs.solved


def quality_levels() -> Iterator[Row]:
    yield "Quality, a solved request", *LEVELS, "plain loop"
    for name in FILES:
        bills = [costs_of(name, Variant(quality=level)) for level in LEVELS]
        plain = costs_of(name, Variant())
        yield f"{name}: solved", *(costs.solved_share for costs in bills), ""
        yield (
            f"{name}: model calls",
            *(costs.per_solved_request(costs.calls.total()) for costs in bills),
            plain.per_solved_request(plain.baseline_calls),
        )
        yield (
            f"{name}: of the verifier",
            *(costs.per_solved_request(costs.calls["TurnVerdictReply"]) for costs in bills),
            "",
        )
        yield f"{name}: tokens", *(costs.per_solved_request(costs.tokens) for costs in bills), ""


def prompt_growth() -> Iterator[Row]:
    yield "Prompt tokens", "turn 5", "turn 20", "turn 50", "50 to 5", "50 to 20"
    histories = ("many requests", many_requests), ("one request", one_request), ("one read a turn", one_read_a_turn)
    for what, play in histories:
        tokens = played(play).prompt_tokens
        for role in tokens[5]:
            early, middle, late = (tokens[turn][role] for turn in (5, 20, 50))
            yield f"{what}: {role}", early, middle, late, f"{late / early:.2f}", f"{late / middle:.2f}"


def main() -> None:
    for part in (parallel_calls, recall_of_sessions, tool_selection_table, quality_levels, prompt_growth):
        head, *rows = part()
        for row in (head, ["---", *["---:"] * (len(head) - 1)], *rows):
            print("|", " | ".join(map(str, row)), "|")
        print(flush=True)


if __name__ == "__main__":
    main()
