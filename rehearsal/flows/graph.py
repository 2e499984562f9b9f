"""The flows that a prompt describes, as graphs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rehearsal.prompt import Prompt, parsed


@dataclass(frozen=True)
class Node:
    """One node; `after`: the possible next nodes, the ordinary one first."""

    name: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True)
class Flow:
    """A flow, and the values that its state begins with."""

    name: str
    description: str
    nodes: Mapping[str, Node]
    starts: tuple[str, ...]
    state: Mapping[str, Any]

    def ordinary(self) -> tuple[str, ...]:
        """The path from the first node that always takes the first possible next node."""
        way: list[str] = []
        node = next(iter(self.nodes.values()), None)
        while node and node.name not in way:
            way.append(node.name)
            node = self.nodes.get(node.after[0]) if node.after else None
        return tuple(way)

    def walkable(self, path: Sequence[str]) -> bool:
        """Whether each node follows the one before and has its inputs, and the last one is an end."""
        known = {*self.starts, *self.state}
        before: Node | None = None
        for name in path:
            node = self.nodes.get(name)
            if node is None or (before and name not in before.after) or not known.issuperset(node.inputs):
                return False
            known |= set(node.outputs)
            before = node
        return before is not None and not before.after


def read_flows(prompt: Prompt) -> list[Flow]:
    """The flows of the section `flows`, each with its part of the section `state`."""
    states = parsed(prompt["state"])
    states = states if isinstance(states, dict) else {}
    return [_flow(line, states.get(line["name"]) or {}) for line in prompt.objects("flows") if line.get("name")]


def _flow(line: Mapping[str, Any], state: Mapping[str, Any]) -> Flow:
    nodes = [
        Node(str(one["name"]), *(tuple(one.get(key) or ()) for key in ("inputs", "outputs", "possible_next_nodes")))
        for one in line.get("nodes") or ()
    ]
    by_name = {node.name: node for node in nodes}
    return Flow(line["name"], str(line.get("description", "")), by_name, tuple(line.get("starts") or ()), state)
