"""Paths through flows: which can be walked, and what is told of a flow's state. Pure.

A path is a list of nodes. What its nodes have made so far is the flow's state, values by name.
"""

from collections.abc import Collection, Mapping, Sequence

from pydantic import JsonValue

from parley.protocol.flows import FlowPage, FlowSpec, NodeSpec
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


def path_problems(
    flow: FlowSpec, path: Sequence[str], have: Collection[str], after: str = "", *, titles: bool = False
) -> tuple[str, ...]:
    """Why this path cannot be walked from a state that has these values; `after`: the node that has run before it.

    `titles`: nodes and values are called as people read them, not as a path names them.
    """
    if not path:
        return ("The path has no nodes.",)
    if unknown := [name for name in path if flow.node(name) is None]:
        nodes = ", ".join(_called(flow, node.name, titles=titles) for node in flow.nodes)
        return tuple(f"{flow.name} has no node “{name[:80]}”; its nodes are {nodes}." for name in unknown)
    problems: list[str] = []
    known = set(have)
    before = flow.node(after)
    for name in path:
        node = flow.node(name)
        if node is None:
            continue
        called = _called(flow, name, titles=titles)
        if before and name not in before.possible_next_nodes:
            ways = _next(flow, before, titles=titles) or "nothing: the flow ends there"
            last = _called(flow, before.name, titles=titles)
            problems.append(f"{last} is not followed by {called}; it is followed by {ways}.")
        if missing := [one for one in node.inputs if one not in known]:
            values = ", ".join(_spaced(one) if titles else one for one in missing)
            problems.append(f"{called} needs {values}, which nothing before it makes.")
        known.update(node.outputs)
        before = node
    if before and before.possible_next_nodes:
        last, ways = _called(flow, before.name, titles=titles), _next(flow, before, titles=titles)
        problems.append(f"The path ends at {last}, which is no end: {ways}.")
    return tuple(problems)


def lacking(flow: FlowSpec, path: Sequence[str], have: Collection[str]) -> tuple[str, ...]:
    """Values that nodes of this path need and nothing before them makes."""
    known, wanted = set(have), dict[str, None]()
    for node in filter(None, map(flow.node, path)):
        wanted |= dict.fromkeys(one for one in node.inputs if one not in known)
        known.update(node.outputs)
    return tuple(wanted)


def chain_problems(
    page: FlowPage, chain: Sequence[tuple[str, Sequence[str]]], *, titles: bool = False
) -> tuple[str, ...]:
    """Why these paths through one or two flows cannot be walked one after the other. `titles`: see path_problems."""
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
        have = {*flow.starts, *page.states.get(name, {}), *given}
        problems += path_problems(flow, path, have, titles=titles)
        given = {"findings"}
    return tuple(problems)


def _next(flow: FlowSpec, node: NodeSpec, *, titles: bool) -> str:
    return ", ".join(_called(flow, name, titles=titles) for name in node.possible_next_nodes)


def _called(flow: FlowSpec, name: str, *, titles: bool) -> str:
    node = flow.node(name)
    return (node.title if node and node.title else _spaced(name)) if titles else name


def _spaced(name: str) -> str:
    return name.replace("_", " ")


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
