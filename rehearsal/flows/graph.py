"""The flows that a prompt describes, as graphs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rehearsal.prompt import ParsedPrompt, parsed


@dataclass(frozen=True)
class FlowNode:
    """One node. `after`: the possible next nodes, the default one first."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True)
class FlowGraph:
    """A flow, and the initial values of its state."""

    name: str
    description: str
    nodes: Mapping[str, FlowNode]
    starts: tuple[str, ...]
    state: Mapping[str, Any]

    def ordinary(self) -> tuple[str, ...]:
        """The default path: from the first node, always the first possible next node."""
        way: list[str] = []
        node = next(iter(self.nodes.values()), None)
        while node and node.name not in way:
            way.append(node.name)
            node = self.nodes.get(node.after[0]) if node.after else None
        return tuple(way)

    def walkable(self, path: Sequence[str]) -> bool:
        """Whether each node follows the one before and has its inputs, and the last one is an end."""
        known = {*self.starts, *self.state}
        before: FlowNode | None = None
        for name in path:
            node = self.nodes.get(name)
            if node is None or (before and name not in before.after) or not known.issuperset(node.inputs):
                return False
            known |= set(node.outputs)
            before = node
        return before is not None and not before.after


def read_flows(prompt: ParsedPrompt) -> list[FlowGraph]:
    """The flows of the section `flows`, each with its part of the section `state`."""
    states = parsed(prompt["state"])
    states = states if isinstance(states, dict) else {}
    return [_flow(line, states.get(line["name"]) or {}) for line in prompt.objects("flows") if line.get("name")]


def _flow(line: Mapping[str, Any], state: Mapping[str, Any]) -> FlowGraph:
    nodes = [
        FlowNode(
            str(node["name"]), *(tuple(node.get(key) or ()) for key in ("inputs", "outputs", "possible_next_nodes"))
        )
        for node in line.get("nodes") or ()
    ]
    by_name = {node.name: node for node in nodes}
    return FlowGraph(line["name"], str(line.get("description", "")), by_name, tuple(line.get("starts") or ()), state)
