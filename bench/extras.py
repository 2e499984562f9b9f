"""Does what Parley has beside the plain loop help? `python -m bench.extras`

Plays the open requests and the phrases with each part as it is and without it, and prints Markdown tables. All is
counted (turns, calls of the rehearsal model, tokens as it counts them) but one pair of times, taken in one run.
"""

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any

from bench import hints, many_tools, recommended, waves
from bench.plays import FILES, Bill, How, bill, requests_of
from parley.events.values import Quality
from tests.unit.test_turn_prompt_growth import lived, many_requests, one_look, one_request

OPEN = FILES[0]
LEVELS: tuple[Quality, ...] = ("economy", "balanced", "thorough")
Row = Sequence[Any]


def side_by_side() -> Iterator[Row]:
    yield "Calls side by side, a solved request", "as planned", "one call a turn", "ratio"
    for name in FILES:
        planned, single = bill(name, How()), bill(name, How(one_call=True))
        yield f"{name}: solved", planned.share, single.share, ""
        yield f"{name}: turns", *_pair(planned.turns, single.turns, planned, single)
        yield f"{name}: model calls", *_pair(planned.calls.total(), single.calls.total(), planned, single)
        yield f"{name}: tokens", *_pair(planned.tokens, single.tokens, planned, single)
    together, in_turn = asyncio.run(waves.medians())
    reads = f"{waves.READS} reads of {waves.SECONDS * 1000:.0f} ms: ms"
    yield reads, f"{together:.0f}", f"{in_turn:.0f}", f"{together / in_turn:.2f}"


def _pair(mine: int, others: int, one: Bill, other: Bill) -> tuple[str, str, str]:
    return one.each(mine), other.each(others), f"{(mine / one.solved) / (others / other.solved):.2f}"


def recalling() -> Iterator[Row]:
    earlier, queries = FILES
    played = bill(earlier, How())
    found = asyncio.run(hints.measured(requests_of(earlier), played.played, requests_of(queries)))
    yield "Earlier sessions as hints", ""
    yield f"queries over {hints.SESSIONS} sessions", found.queries
    yield "told, of three each", f"{found.told} of {3 * found.queries}"
    yield "of the same kind", f"{found.fitting / found.told:.0%}"
    yield "of the same kind by chance", f"{found.chance:.0%}"
    yield "queries that nothing is told for", f"{found.silent / found.queries:.0%}"
    yield "earlier sessions with a verdict to learn from", f"{played.lessons} of {played.requests}"
    yield "first prompt with three, to that without", f"{found.tokens_with / found.tokens_without:.2f}"


def recommending() -> Iterator[Row]:
    yield f"{len(many_tools.TOOLS)} tools", "of 24 servers", "of one server"
    every = [request for name in FILES for request in requests_of(name)]
    played = [one for name in FILES for one in bill(name, How()).played]
    both = recommended.catalogue(), recommended.of_one_server()
    first = [asyncio.run(recommended.first_turns(every, played, tools)) for tools in both]
    yield "needed tools that are shown", *(f"{one.shown / one.needed:.1%}" for one in first)
    yield "requests with all they need", *(f"{one.whole / one.requests:.1%}" for one in first)
    yield "first prompt, to one with all tools", *(f"{one.tokens / one.tokens_of_all:.2f}" for one in first)
    few = _planning(bill(OPEN, How()))
    asked = [bill(OPEN, How(tools=tools)) for tools in both]
    yield f"{OPEN}: solved", *(one.share for one in asked)
    yield f"{OPEN}: planner calls, to those with 16 tools", *(f"{_planning(one) / few:.2f}" for one in asked)


def _planning(one: Bill) -> float:
    return one.calls["TurnReply"] / one.solved


def spending() -> Iterator[Row]:
    yield "Quality, a solved request", *LEVELS, "plain loop"
    for name in FILES:
        bills = [bill(name, How(quality=level)) for level in LEVELS]
        plain = bill(name, How())
        yield f"{name}: solved", *(one.share for one in bills), ""
        yield f"{name}: model calls", *(one.each(one.calls.total()) for one in bills), plain.each(plain.plain_calls)
        yield f"{name}: of the verifier", *(one.each(one.calls["TurnVerdictReply"]) for one in bills), ""
        yield f"{name}: tokens", *(one.each(one.tokens) for one in bills), ""


def growing() -> Iterator[Row]:
    yield "Prompt tokens", "turn 5", "turn 20", "turn 50", "50 to 5", "50 to 20"
    lives = ("many requests", many_requests), ("one request", one_request), ("one look a turn", one_look)
    for what, life_of in lives:
        told = lived(life_of).told
        for role in told[5]:
            early, middle, late = (told[turn][role] for turn in (5, 20, 50))
            yield f"{what}: {role}", early, middle, late, f"{late / early:.2f}", f"{late / middle:.2f}"


def main() -> None:
    for part in (side_by_side, recalling, recommending, spending, growing):
        head, *rows = part()
        for row in (head, ["---", *["---:"] * (len(head) - 1)], *rows):
            print("|", " | ".join(map(str, row)), "|")
        print(flush=True)


if __name__ == "__main__":
    main()
