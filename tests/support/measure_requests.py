"""How many requests in plain English does the rehearsal model solve?

    python -m tests.support.measure_requests FILE [--data DIR] [-v]

Each request is played against a retail store in memory, with every write approved. It is solved if the final data equal
those after the expected calls, and the answer contains every required fact (compared as tau-bench does: lower case, no
commas). Unsolved requests with a wrong write are counted apart from those that were only asked about, refused or
answered incompletely. Prints the solved share by kind, and model calls a solved request beside those of a plain agent
loop: two a turn, one for the answer.
"""

import argparse
import json
from collections import defaultdict
from itertools import zip_longest
from pathlib import Path
from typing import Any

from packs.retail.data import load
from packs.retail.generate import generate
from packs.retail.specs import SPECS
from packs.retail.tasks.outputs import normalize
from packs.retail.tasks.replay import Shop
from tests.support.retail_play import PlayResult, expected, play

WRITES = frozenset(spec.name for spec in SPECS if spec.effect != "read")


def unsolved_reason(request: dict[str, Any], played: PlayResult, shop: Shop) -> str:
    """Why the request is not solved; "" if it is."""
    problems = []
    if played.changed != expected(request["agt"], shop):
        problems.append("other data")
    lacking = [fact for fact in request["ogt"] if normalize(fact) not in normalize(played.answer)]
    if lacking:
        problems.append(f"not said: {', '.join(lacking)}")
    return "; ".join(problems)


def wrong_writes(request: dict[str, Any], played: PlayResult, shop: Shop) -> list[str]:
    """Writes that are not among the expected ones; empty if the final data are right."""
    if played.changed == expected(request["agt"], shop):
        return []
    right = {_effect_key(call["name"], call["arguments"]) for call in request["agt"]}
    done = [deed for deed in played.deeds if deed["status"] == "finished" and deed["tool"] in WRITES]
    return [deed["tool"] for deed in done if _effect_key(deed["tool"], deed["arguments"]) not in right]


def _effect_key(tool: str, arguments: dict[str, Any]) -> str:
    """Equal for calls with the same effect: the order of the items does not matter."""
    items = sorted(zip_longest(arguments.get("item_ids") or (), arguments.get("new_item_ids") or ()))
    return json.dumps([tool, {**arguments, "item_ids": items, "new_item_ids": None}], sort_keys=True)


def was_handed_over(played: PlayResult) -> bool:
    return any(deed["tool"] == "transfer_to_human_agents" for deed in played.deeds)


def print_unsolved(request: dict[str, Any], played: PlayResult, why: str) -> None:
    print(f"\n{request.get('id', '')} [{request.get('kind', '')}] {why}\n  {request['q']}")
    for question in played.questions:
        print(f"  ? {question[:300]}")
    for call in request["agt"]:
        print(f"  right: {call['name']} {json.dumps(call['arguments'])}")
    for deed in played.deeds:
        print(f"  did:   {deed['tool']} {json.dumps(deed['arguments'])} {deed['status']}")
    print(f"  said:  {played.answer} ({played.confidence})")


def run(file: Path, shop: Shop, *, verbose: bool) -> None:
    results: dict[str, list[bool]] = defaultdict(list)
    calls = plain_calls = handed = due = wrong = 0
    for request in map(json.loads, file.read_text(encoding="utf-8").splitlines()):
        played = play(request["q"], shop, request.get("replies", ()))
        why = unsolved_reason(request, played, shop)
        results[request.get("kind", "all")].append(not why)
        if not why:
            calls, plain_calls = calls + played.calls, plain_calls + 2 * (played.turns + len(played.questions)) + 1
        elif written := wrong_writes(request, played, shop):
            wrong += 1
            why = f"WRONG WRITE ({', '.join(written)}); {why}"
        if request.get("outcome") == "human":
            due, handed = due + 1, handed + was_handed_over(played)
        if verbose and why:
            print_unsolved(request, played, why)
    for kind, fine in sorted(results.items()):
        print(f"{kind:16} {sum(fine):3} of {len(fine):3}")
    outcomes = [is_solved for fine in results.values() for is_solved in fine]
    print(f"{'all':16} {sum(outcomes):3} of {len(outcomes):3}  ({sum(outcomes) / len(outcomes):.0%})")
    print(
        f"not solved: {wrong} with a wrong write, {len(outcomes) - sum(outcomes) - wrong} asked, refused or left unsaid"
    )
    if sum(outcomes):
        print(
            f"model calls a solved request: {calls / sum(outcomes):.1f}; plain loop: {plain_calls / sum(outcomes):.1f}"
        )
    if due:
        print(f"handed over to a person where that is right: {handed} of {due}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Share of plain-English requests that the rehearsal model solves.")
    parser.add_argument("file", type=Path, help='JSON lines with "q", "agt", "ogt" and perhaps "replies" and "kind"')
    parser.add_argument(
        "--data", type=Path, help="a folder in tau-bench's format; the sample store where it is not given"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="list what was not solved")
    args = parser.parse_args()
    run(args.file, Shop(load(args.data) if args.data else generate()), verbose=args.verbose)


if __name__ == "__main__":
    main()
