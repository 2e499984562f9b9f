"""The planner's part: one or two paths through flows, planned from nothing but what the prompt tells of them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rehearsal.flows.choose import Chosen, choose, question
from rehearsal.flows.graph import FINDINGS, Flow, read_flows
from rehearsal.flows.proposals import new_node
from rehearsal.flows.route import Wish, find_path, walkable, without_rounds
from rehearsal.flows.wanted import wanted
from rehearsal.flows.words import LONGEST, likeness
from rehearsal.prompt import Prompt
from rehearsal.retail.state import json_lines, questions

ALIKE = 0.7  # how much of its words an example must share
Way = tuple[str, tuple[str, ...]]  # a flow's name and a path through it


def answer_path(prompt: Prompt) -> dict[str, Any]:
    """The reply to the task `path`."""
    flows = read_flows(prompt["flows"], _states(prompt["state"]), prompt["problems"])
    if not flows:
        return _reply([], "I was shown no flow that I could plan a path through.")
    request = prompt["request"][:LONGEST]
    if taught := _taught(prompt, request, flows):
        return taught
    chosen, unclear = choose(flows, request, _answer(prompt, flows)[:LONGEST])
    if unclear:
        return _reply([], "Nothing in the request decides between the flows.", question=unclear)
    found = [_planned(one, prompt, after=bool(at)) for at, one in enumerate(chosen)]
    reasons = " ".join(why for _, why in found)
    names = " and then ".join(one.flow.name for one in chosen)
    return _reply(
        [way for way, _ in found if way[1]],
        f"The request is for {names}. {reasons}",
        new_node=new_node([one.flow for one in chosen], request),
    )


def _answer(prompt: Prompt, flows: Sequence[Flow]) -> str:
    """What was said when it was asked which flow is meant, here or by the planner itself."""
    asked = question(flows).split()
    names = {flow.name for flow in flows}
    said = [answer for put, answer in questions(prompt["dialogue"]) if put.split() == asked or answer.strip() in names]
    return said[-1] if said else ""


def _planned(chosen: Chosen, prompt: Prompt, *, after: bool) -> tuple[Way, str]:
    """The path through one flow, and why; a second flow works on what the first one finds."""
    flow = replace(chosen.flow, starts=chosen.flow.starts | {FINDINGS}) if after else chosen.flow
    wish, why = wanted(flow, chosen.words, prompt["feedback"][:LONGEST])
    path = find_path(flow, wish) or find_path(flow, Wish(flow.ordinary())) or ()
    if not path:
        return (flow.name, ()), f"I found no path through {flow.name} whose nodes get what they need."
    if after:
        why = f"{flow.name} is given what was found before. {why}"
    left = [name for name in flow.ordinary() if name not in path]
    return (flow.name, path), f"{why} Left out: {', '.join(left)}." if left else why


def _taught(prompt: Prompt, request: str, flows: Sequence[Flow]) -> dict[str, Any] | None:
    """The path that worked for a request very much like this one, if it can be walked now."""
    if prompt["feedback"] or prompt["problems"]:
        return None
    lines = [one for one in json_lines(prompt["examples"]) if isinstance(one.get("path"), list)]
    ranked = sorted(lines, key=lambda one: -likeness(str(one.get("request", "")), request))
    for line in ranked:
        if likeness(str(line.get("request", "")), request) < ALIKE:
            break
        ways = _ways([str(one) for one in line["path"]])
        by_name = {flow.name: flow for flow in flows}
        if ways and all(name in by_name and walkable(by_name[name], path) for name, path in ways):
            told = f"A request very much like this one went this way and its answer was accepted: “{line['request']}”."
            return _reply(ways, told, new_node=new_node([by_name[name] for name, _ in ways], request))
    return None


def _ways(tools: Sequence[str]) -> list[Way]:
    """Tools `<flow>.<node>` as paths, without repairs and without what a person set."""
    found: list[tuple[str, list[str]]] = []
    for tool in tools:
        flow, _, node = tool.partition(".")
        if not found or found[-1][0] != flow:
            found.append((flow, []))
        if node != "person":
            found[-1][1].append(node)
    return [(flow, without_rounds(nodes)) for flow, nodes in found]


def _states(text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _reply(ways: Sequence[Way], reasoning: str, **more: Any) -> dict[str, Any]:
    paths = [{"flow": flow, "nodes": list(nodes)} for flow, nodes in ways]
    return {"question": None, "paths": paths, "reasoning": reasoning.strip(), "new_node": None} | more
