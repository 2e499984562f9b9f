"""What services tell each other about flows: the executor walks them, the planner plans paths, the gateway shows them.

A flow is a graph of described nodes. An action that runs a node is a call of the tool `<flow>.<node>`; what its nodes
have made so far is the flow's state, values by name. Pure.
"""

from collections.abc import Collection, Mapping, Sequence

from pydantic import Field, JsonValue

from shared.domain.paths import LONGEST as LONGEST
from shared.domain.paths import PERSON as PERSON
from shared.domain.paths import split as split
from shared.events.values import Effect, Line, Value

FLOWS_LIST = "flows.list"  # ListFlows -> FlowPage


class NodeSpec(Value):
    """One node. The first of `possible_next_nodes` is the ordinary one; none: the flow ends here.

    `inputs` must be in the state before it runs, `optional` may be. `conditions` tell by next node when the path leads
    there, as expressions over the state. `asks`: it asks the person. `confirm`: why a person looks at its inputs
    before it runs, "" if nobody has to.
    """

    name: Line
    description: str
    inputs: tuple[Line, ...] = ()
    optional: tuple[Line, ...] = ()
    outputs: tuple[Line, ...] = ()
    possible_next_nodes: tuple[Line, ...] = ()
    conditions: dict[str, str] = Field(default_factory=dict)
    asks: bool = False
    confirm: str = ""
    effect: Effect = "read"


class FlowSpec(Value):
    """A flow: a full walk begins at its first node. `starts`: what is in the state of every run from the start,
    `may_start`: what is there in some runs."""

    name: Line
    description: str
    nodes: tuple[NodeSpec, ...]
    starts: tuple[Line, ...] = ("request",)
    may_start: tuple[Line, ...] = ()

    def node(self, name: str) -> NodeSpec | None:
        return next((node for node in self.nodes if node.name == name), None)


class ListFlows(Value):
    """All flows; with a session, also the state that each would begin with for its request."""

    session_id: str = ""


class FlowPage(Value):
    """`states`: by flow, what its state would hold at the start. `troubles`: flows that could not be loaded, why."""

    flows: tuple[FlowSpec, ...]
    states: dict[str, dict[str, JsonValue]] = Field(default_factory=dict)
    troubles: tuple[str, ...] = ()

    def flow(self, name: str) -> FlowSpec | None:
        return next((flow for flow in self.flows if flow.name == name), None)


def tool_of(flow: str, node: str) -> str:
    return f"{flow}.{node}"


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
