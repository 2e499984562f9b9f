"""Paths through flows: which can be walked, and what is told of a flow's state. Pure.

A path is a list of nodes. What its nodes have made so far is the flow's state, values by name.
"""

from collections.abc import Collection, Mapping, Sequence

from pydantic import JsonValue

from parley.protocol.flows import FlowPage, FlowSpec
from shared.domain.paths import LONGEST as LONGEST
from shared.domain.paths import PERSON as PERSON
from shared.domain.paths import split as split


def full_path(flow: FlowSpec, first: str = "") -> tuple[str, ...]:
    """The ordinary way from the first node (or this one) to an end; conditions may leave it.

    Where the ordinary next node only leads back, the next one is taken.
    """
    return _to_end(flow, first or flow.nodes[0].name, ()) or (first or flow.nodes[0].name,)


def _to_end(flow: FlowSpec, name: str, before: tuple[str, ...]) -> tuple[str, ...]:
    node = flow.node(name)
    if node is None or name in before:
        return ()
    path = (*before, name)
    if not node.possible_next_nodes:
        return path
    ways = (_to_end(flow, following, path) for following in node.possible_next_nodes)
    return next((way for way in ways if way), ())


def path_problems(flow: FlowSpec, path: Sequence[str], have: Collection[str], after: str = "") -> tuple[str, ...]:
    """Why this path cannot be walked from a state that has these values; `after`: the node that has run before it."""
    if not path:
        return ("The path has no nodes.",)
    if unknown := [name for name in path if flow.node(name) is None]:
        names = ", ".join(node.name for node in flow.nodes)
        return tuple(f"{flow.name} has no node “{name[:80]}”; its nodes are {names}." for name in unknown)
    problems: list[str] = []
    known = set(have)
    before = flow.node(after)
    for name in path:
        node = flow.node(name)
        if node is None:
            continue
        if before and name not in before.possible_next_nodes:
            ways = ", ".join(before.possible_next_nodes) or "nothing: the flow ends there"
            problems.append(f"{before.name} is not followed by {name}; it is followed by {ways}.")
        if missing := [one for one in node.inputs if one not in known]:
            problems.append(f"{name} needs {', '.join(missing)}, which nothing before it makes.")
        known.update(node.outputs)
        before = node
    if before and before.possible_next_nodes:
        problems.append(f"The path ends at {before.name}, which is no end: {', '.join(before.possible_next_nodes)}.")
    return tuple(problems)


def chain_problems(page: FlowPage, chain: Sequence[tuple[str, Sequence[str]]]) -> tuple[str, ...]:
    """Why these paths through one or two flows cannot be walked one after the other."""
    if not chain:
        return ("There is no path.",)
    problems: list[str] = []
    if (length := sum(len(path) for _, path in chain)) > LONGEST:
        problems.append(f"It has {length} nodes; a path has {LONGEST} at most.")
    given: set[str] = set()
    for name, path in chain:
        flow = page.flow(name)
        if flow is None:
            flows = ", ".join(flow.name for flow in page.flows)
            problems.append(f"There is no flow “{name[:80]}”; the flows are {flows}.")
            continue
        problems += path_problems(flow, path, {*flow.starts, *page.states.get(name, {}), *given})
        given = {"findings"}
    return tuple(problems)


def chains(tools: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Tools of a path as paths through flows, in order."""
    found: list[tuple[str, list[str]]] = []
    for tool in tools:
        flow, node = split(tool)
        if not found or found[-1][0] != flow:
            found.append((flow, []))
        found[-1][1].append(node)
    return found


def shortened(state: Mapping[str, JsonValue], limit: int = 400) -> dict[str, JsonValue]:
    """A state as prompts tell it: long texts by their beginnings, large values by what they are."""
    told: dict[str, JsonValue] = {}
    for name, value in state.items():
        if isinstance(value, str):
            told[name] = value if len(value) <= limit else value[: limit - 1] + "…"
        elif isinstance(value, (list, dict)) and len(str(value)) > limit:
            told[name] = f"({len(value)} entries)"
        else:
            told[name] = value
    return told
