"""Paths through flows: which are valid, and a flow's state for prompts. Pure.

A path is a list of nodes. A flow's state is the outputs of its nodes so far, by name.
"""

from collections.abc import Collection, Mapping, Sequence

from pydantic import JsonValue

from parley.protocol.flows import FlowPage, FlowSpec, NodeSpec
from shared.domain.transcript.memory import beginning
from shared.domain.turn.flow_paths import MAX_NODES as MAX_NODES
from shared.domain.turn.flow_paths import PERSON_NODE as PERSON_NODE
from shared.domain.turn.flow_paths import split_tool_name as split_tool_name


def full_path(flow: FlowSpec, first: str = "") -> tuple[str, ...]:
    """The default path from the first node (or this one) to an end, from which conditions may deviate.

    It skips a next node that only leads back.
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
    """Why this path is not valid from a state with these values; `after`: the node that has run before it.

    With `titles`, the problems name nodes and values as users read them.
    """
    if not path:
        return ("The path has no nodes.",)
    if unknown := [name for name in path if flow.node(name) is None]:
        nodes = ", ".join(_node_name(flow, node.name, titles=titles) for node in flow.nodes)
        return tuple(f"{flow.name} has no node “{name[:80]}”; its nodes are {nodes}." for name in unknown)
    problems: list[str] = []
    known = set(have)
    before = flow.node(after)
    for name in path:
        node = flow.node(name)
        if node is None:
            continue
        called = _node_name(flow, name, titles=titles)
        if before and name not in before.possible_next_nodes:
            ways = _successors(flow, before, titles=titles) or "nothing: the flow ends there"
            last = _node_name(flow, before.name, titles=titles)
            problems.append(f"{last} is not followed by {called}; it is followed by {ways}.")
        if missing := [value for value in node.inputs if value not in known]:
            values = ", ".join(_as_words(value) if titles else value for value in missing)
            problems.append(f"{called} needs {values}, which nothing before it makes.")
        known.update(node.outputs)
        before = node
    if before and before.possible_next_nodes:
        last, ways = _node_name(flow, before.name, titles=titles), _successors(flow, before, titles=titles)
        problems.append(f"The path ends at {last}, which is no end: {ways}.")
    return tuple(problems)


def missing_inputs(flow: FlowSpec, path: Sequence[str], have: Collection[str]) -> tuple[str, ...]:
    """Inputs of this path's nodes that no earlier node produces."""
    known, missing = set(have), dict[str, None]()
    for node in filter(None, map(flow.node, path)):
        missing |= dict.fromkeys(name for name in node.inputs if name not in known)
        known.update(node.outputs)
    return tuple(missing)


def chain_problems(
    page: FlowPage, chain: Sequence[tuple[str, Sequence[str]]], *, titles: bool = False
) -> tuple[str, ...]:
    """Why these paths through one or two flows are not a valid sequence. `titles`: see path_problems."""
    if not chain:
        return ("There is no path.",)
    problems: list[str] = []
    if (length := sum(len(path) for _, path in chain)) > MAX_NODES:
        problems.append(f"It has {length} nodes; a path has {MAX_NODES} at most.")
    carried: set[str] = set()
    for name, path in chain:
        flow = page.flow(name)
        if flow is None:
            flows = ", ".join(flow.name for flow in page.flows)
            problems.append(f"There is no flow “{name[:80]}”; the flows are {flows}.")
            continue
        have = {*flow.starts, *page.states.get(name, {}), *carried}
        problems += path_problems(flow, path, have, titles=titles)
        carried = {"findings"}
    return tuple(problems)


def _successors(flow: FlowSpec, node: NodeSpec, *, titles: bool) -> str:
    return ", ".join(_node_name(flow, name, titles=titles) for name in node.possible_next_nodes)


def _node_name(flow: FlowSpec, name: str, *, titles: bool) -> str:
    node = flow.node(name)
    return (node.title if node and node.title else _as_words(name)) if titles else name


def _as_words(name: str) -> str:
    return name.replace("_", " ")


def group_by_flow(tools: Sequence[str]) -> list[tuple[str, list[str]]]:
    """The tools of a path, grouped into paths through flows, in order."""
    paths: list[tuple[str, list[str]]] = []
    for tool in tools:
        flow, node = split_tool_name(tool)
        if not paths or paths[-1][0] != flow:
            paths.append((flow, []))
        paths[-1][1].append(node)
    return paths


def shorten_state(state: Mapping[str, JsonValue], limit: int = 400) -> dict[str, JsonValue]:
    """A state for prompts: long texts are cut, large values are summarized."""
    shortened: dict[str, JsonValue] = {}
    for name, value in state.items():
        if isinstance(value, str):
            shortened[name] = beginning(value, limit)
        elif isinstance(value, (list, dict)) and len(str(value)) > limit:
            shortened[name] = f"({len(value)} entries)"
        else:
            shortened[name] = value
    return shortened
