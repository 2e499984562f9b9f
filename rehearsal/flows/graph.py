"""The flows that a prompt describes, as a graph; what stands there is all that is known of them."""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from rehearsal.flows.words import content
from rehearsal.retail.state import json_lines

FINDINGS = "findings"  # what the flow before found, in the state of the second of two
_UNKNOWN = re.compile(r"has no node “([^”]+)”")
_NO_FLOW = re.compile(r"There is no flow “([^”]+)”")
_NO_WAY = re.compile(r"\b([\w-]+) is not followed by ([\w-]+)")
_NEEDS = re.compile(r"\b([\w-]+) needs ([\w, -]+?), which nothing before it makes")


@dataclass(frozen=True)
class Node:
    """One node; `after` are the possible next nodes, the ordinary one first."""

    name: str
    description: str = ""
    inputs: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    conditions: Mapping[str, str] = field(default_factory=dict)
    asks: bool = False
    effect: str = "read"

    @property
    def takes(self) -> frozenset[str]:
        return frozenset((*self.inputs, *self.optional))

    @cached_property
    def words(self) -> frozenset[str]:
        return content(f"{self.name} {self.description}")


@dataclass(frozen=True)
class Flow:
    """A flow and what its state begins with; `have` are the names in it that a path may build on."""

    name: str
    description: str
    nodes: Mapping[str, Node]
    starts: frozenset[str]
    state: Mapping[str, Any]
    lacks: frozenset[str] = frozenset()

    @property
    def have(self) -> frozenset[str]:
        return (self.starts | frozenset(self.state)) - self.lacks

    @property
    def first(self) -> Node:
        return next(iter(self.nodes.values()))

    @cached_property
    def text(self) -> str:
        """All that is told about it, the flow's own words first."""
        about = [self.name.replace("_", " "), self.description]
        return " ".join([*about, *(f"{one.name.replace('_', ' ')}: {one.description}" for one in self.nodes.values())])

    def ordinary(self) -> tuple[str, ...]:
        """The way from the first node along the ordinary next ones."""
        way: list[str] = []
        node: Node | None = self.first
        while node and node.name not in way:
            way.append(node.name)
            node = self.nodes.get(node.after[0]) if node.after else None
        return tuple(way)

    def given(self) -> dict[str, Node]:
        """What the state holds though a node of the ordinary way makes it, with that node.

        What a node before the maker takes is no such value: it is said from the start.
        """
        found: dict[str, Node] = {}
        taken: set[str] = set()
        for node in map(self.nodes.__getitem__, self.ordinary()):
            held = [one for one in node.outputs if one in self.have and self.state.get(one) and one not in taken]
            found |= {one: node for one in held if one not in found}
            taken |= node.takes
        return found

    def maker(self, name: str) -> Node | None:
        """The node of the ordinary way that makes this value."""
        return next((self.nodes[one] for one in self.ordinary() if name in self.nodes[one].outputs), None)


def read_flows(text: str, states: Mapping[str, Any], problems: str) -> list[Flow]:
    """The flows of the section, less what the last proposal was told does not exist."""
    flows = [
        _flow(line, states) for line in json_lines(text) if line.get("name") and isinstance(line.get("nodes"), list)
    ]
    gone = set(_NO_FLOW.findall(problems))
    kept = [flow for flow in flows if flow.name not in gone] or flows
    return [mended for flow in kept if (mended := _mended(flow, problems)).nodes]


def _flow(line: Mapping[str, Any], states: Mapping[str, Any]) -> Flow:
    nodes = [_node(one) for one in line["nodes"] if isinstance(one, Mapping) and one.get("name")]
    state = states.get(line["name"])
    return Flow(
        name=str(line["name"]),
        description=str(line.get("description", "")),
        nodes={node.name: node for node in nodes},
        starts=frozenset(_names(line.get("starts"))),
        state=state if isinstance(state, Mapping) else {},
    )


def _node(line: Mapping[str, Any]) -> Node:
    conditions = line.get("conditions")
    return Node(
        name=str(line["name"]),
        description=str(line.get("description", "")),
        inputs=_names(line.get("inputs")),
        optional=_names(line.get("optional")),
        outputs=_names(line.get("outputs")),
        after=_names(line.get("possible_next_nodes")),
        conditions={str(to): str(told) for to, told in conditions.items()} if isinstance(conditions, Mapping) else {},
        asks=bool(line.get("asks")),
        effect=str(line.get("effect", "read")),
    )


def _names(value: Any) -> tuple[str, ...]:
    return tuple(str(one) for one in value) if isinstance(value, (list, tuple)) else ()


def _mended(flow: Flow, problems: str) -> Flow:
    """The graph without the nodes, ways and values that turned out not to be there."""
    gone = set(_UNKNOWN.findall(problems))
    barred = set(_NO_WAY.findall(problems))
    lacks = frozenset(name.strip() for _, names in _NEEDS.findall(problems) for name in names.split(","))
    nodes = {
        node.name: replace(node, after=_open(node, gone, barred))
        for node in flow.nodes.values()
        if node.name not in gone
    }
    return replace(flow, nodes=nodes, lacks=lacks & frozenset(flow.state))


def _open(node: Node, gone: Collection[str], barred: Collection[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(one for one in node.after if one not in gone and (node.name, one) not in barred)
