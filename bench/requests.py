"""How many requests in plain English does the rehearsal model solve? `python -m bench.requests FILE [--data DIR] [-v]`

Each request is played against a retail store in memory, with every write approved. It is solved if the data are then
as after the right calls, and the answer has every fact that it must have (tau-bench's measure: lower case, no commas).
What is not solved is worst where something was written that was not wanted: that is counted apart from what was only
asked, refused or left unsaid without need. Prints the share by kind, and model calls a solved request beside those of
the plainest loop: two a turn, one an answer.
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
from packs.retail.tasks.outputs import plain
from packs.retail.tasks.replay import Shop
from tests.support.retail_play import Played, expected, play

WRITES = frozenset(spec.name for spec in SPECS if spec.effect != "read")


def solved(request: dict[str, Any], played: Played, shop: Shop) -> str:
    """Why it is not solved; "" where it is."""
    problems = []
    if played.changed != expected(request["agt"], shop):
        problems.append("other data")
    lacking = [fact for fact in request["ogt"] if plain(fact) not in plain(played.answer)]
    if lacking:
        problems.append(f"not said: {', '.join(lacking)}")
    return "; ".join(problems)


def wrong_writes(request: dict[str, Any], played: Played, shop: Shop) -> list[str]:
    """Writes that are none of the right ones, where the data are not as they ought to be."""
    if played.changed == expected(request["agt"], shop):
        return []
    right = {_written(call["name"], call["arguments"]) for call in request["agt"]}
    done = [deed for deed in played.deeds if deed["status"] == "finished" and deed["tool"] in WRITES]
    return [deed["tool"] for deed in done if _written(deed["tool"], deed["arguments"]) not in right]


def _written(tool: str, arguments: dict[str, Any]) -> str:
    """The same for the same effect: in whatever order the items are told."""
    items = sorted(zip_longest(arguments.get("item_ids") or (), arguments.get("new_item_ids") or ()))
    return json.dumps([tool, {**arguments, "item_ids": items, "new_item_ids": None}], sort_keys=True)


def handed_over(played: Played) -> bool:
    return any(deed["tool"] == "transfer_to_human_agents" for deed in played.deeds)


def show(request: dict[str, Any], played: Played, why: str) -> None:
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
        why = solved(request, played, shop)
        results[request.get("kind", "all")].append(not why)
        if not why:
            calls, plain_calls = calls + played.calls, plain_calls + 2 * (played.turns + len(played.questions)) + 1
        elif written := wrong_writes(request, played, shop):
            wrong += 1
            why = f"WRONG WRITE ({', '.join(written)}); {why}"
        if request.get("outcome") == "human":
            due, handed = due + 1, handed + handed_over(played)
        if verbose and why:
            show(request, played, why)
    for kind, fine in sorted(results.items()):
        print(f"{kind:16} {sum(fine):3} of {len(fine):3}")
    every = [one for fine in results.values() for one in fine]
    print(f"{'all':16} {sum(every):3} of {len(every):3}  ({sum(every) / len(every):.0%})")
    print(f"not solved: {wrong} with a wrong write, {len(every) - sum(every) - wrong} asked, refused or left unsaid")
    if sum(every):
        print(f"model calls a solved request: {calls / sum(every):.1f}; plain loop: {plain_calls / sum(every):.1f}")
    if due:
        print(f"handed over to a person where that is right: {handed} of {due}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Share of plain-English requests that the rehearsal model solves.")
    parser.add_argument("file", type=Path, help='JSON lines with "q", "agt", "ogt" and perhaps "replies" and "kind"')
    parser.add_argument(
        "--data", type=Path, help="a folder in tau-bench's format; the sample store where it is not given"
    )
    parser.add_argument("-v", "--verbose", action="store_true", help="list what was not solved")
    given = parser.parse_args()
    run(given.file, Shop(load(given.data) if given.data else generate()), verbose=given.verbose)


if __name__ == "__main__":
    main()
