"""Checks of a flow's graph when it is loaded. All problems are reported at once."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from parley.conditions import BadCondition, Condition
from parley.flow import NEXT
from parley.protocol.flows import FlowSpec, NodeSpec
from shared.flows import MAX_NODES, PERSON_NODE

NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,79}")
FINDINGS = "findings"  # the findings of an earlier flow of the same request
RESERVED = {PERSON_NODE: "stands for what a person sets", NEXT: "names the node that a result leads to"}


class BadFlow(ValueError):
    """The flow is invalid; `problems` are all its problems."""

    def __init__(self, flow: str, problems: Sequence[str]) -> None:
        super().__init__(f"The flow “{flow}” cannot be used: {' '.join(problems)}")
        self.problems = tuple(problems)


def check(flow: FlowSpec) -> None:
    """Check the flow. Raises BadFlow."""
    if problems := tuple(_problems(flow)):
        raise BadFlow(flow.name, problems)


def _problems(flow: FlowSpec) -> Iterator[str]:
    names = [node.name for node in flow.nodes]
    yield from _names("flow", [flow.name])
    yield from _names("node", names)
    if not 0 < len(names) <= MAX_NODES:
        yield f"It has {len(names)} nodes: give it at least one and at most {MAX_NODES}."
        return
    if not flow.description.strip():
        yield "It has no description: the planner chooses by it."
    for node in flow.nodes:
        yield from _alone(node)
    yield from _edges(flow)
    edges = {node.name: tuple(name for name in node.possible_next_nodes if name in names) for node in flow.nodes}
    yield from _shape(flow, edges)
    yield from _data(flow, edges)


def _names(what: str, names: Sequence[str]) -> Iterator[str]:
    for name in names:
        if not NAME.fullmatch(name):
            yield f"“{name[:80]}” is no name for a {what}: letters, digits and _ only, a letter first."
        elif name in RESERVED:
            yield f"“{name}” cannot name a {what}: it {RESERVED[name]}."
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"Two {what}s are named “{name}”: rename one."


def _alone(node: NodeSpec) -> Iterator[str]:
    """Problems of a node by itself."""
    if not node.description.strip():
        yield f"{node.name} has no description: the planner chooses by it."
    values = (*node.inputs, *node.optional, *node.outputs)
    yield from (f"{node.name}: {problem}" for problem in _names("value", list(dict.fromkeys(values))))
    if node.asks and (node.confirm or node.effect != "read"):
        yield f"{node.name} asks, so it can neither be confirmed nor change anything: make two nodes of it."


def _edges(flow: FlowSpec) -> Iterator[str]:
    known = {*flow.starts, *flow.may_start, FINDINGS, *(name for node in flow.nodes for name in node.outputs)}
    for node in flow.nodes:
        for name in node.possible_next_nodes:
            if flow.node(name) is None:
                yield f"{node.name} leads to “{name}”, which is no node."
        for name, text in node.conditions.items():
            if name not in node.possible_next_nodes:
                yield f"{node.name} has a condition for “{name}”, which is not among its possible next nodes."
            try:
                strange = sorted(Condition(text).names - known)
            except BadCondition as error:
                yield f"The condition of {node.name} for {name} cannot be used: {error}."
            else:
                if strange:
                    yield f"The condition of {node.name} for {name} uses {', '.join(strange)}, which no node makes."


def _shape(flow: FlowSpec, edges: Mapping[str, Sequence[str]]) -> Iterator[str]:
    first, ends = flow.nodes[0].name, [name for name, following in edges.items() if not following]
    if not ends:
        yield "It has no end: give at least one node no possible next nodes."
    reached = _reachable([first], edges)
    yield from (f"No way leads from {first} to {name}." for name in edges if name not in reached)
    before = _reversed(edges)
    ending = _reachable(ends, before)
    if ends and (stuck := [name for name in edges if name not in ending]):
        yield f"No way leads out of {', '.join(stuck)} to an end."


def _data(flow: FlowSpec, edges: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Problems of inputs: each must be in the initial state, or be an output of a node that can come before."""
    before = _reversed(edges)
    starts = {*flow.starts, *flow.may_start, FINDINGS}
    for node in flow.nodes:
        earlier = _reachable(before.get(node.name, ()), before)
        available = starts.union(*(other.outputs for other in flow.nodes if other.name in earlier))
        if missing := [name for name in node.inputs if name not in available]:
            names = ", ".join(missing)
            yield f"{node.name} needs {names}, which neither a node before it makes nor the flow starts with."
        everywhere = starts.union(*(other.outputs for other in flow.nodes))
        if strange := [name for name in node.optional if name not in everywhere]:
            yield f"{node.name} would take {', '.join(strange)}, which no node makes."


def _reversed(edges: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    turned: dict[str, list[str]] = {}
    for name, following in edges.items():
        for target in following:
            turned.setdefault(target, []).append(name)
    return turned


def _reachable(start: Iterable[str], edges: Mapping[str, Sequence[str]]) -> set[str]:
    """These nodes and all that are reachable from them."""
    reached: set[str] = set()
    todo = list(start)
    while todo:
        name = todo.pop()
        if name not in reached:
            reached.add(name)
            todo += edges.get(name, ())
    return reached
