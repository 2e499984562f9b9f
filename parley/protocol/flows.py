"""Messages between services about flows: graphs of described nodes. A node is called as the tool `<flow>.<node>`."""

from pydantic import Field, JsonValue

from parley.events.values import Effect, Line, Value, is_empty

FLOWS_LIST = "flows.list"  # ListFlows -> FlowPage


class NodeSpec(Value):
    """One node. The first of `possible_next_nodes` is the default; the flow ends at a node without any.

    `inputs` must be in the state before it runs, `optional` may be. `conditions`: by next node, the expression over the
    state under which the path leads there. `asks`: it asks the user. `confirm`: why a person must confirm its inputs
    before it runs, "" if that is not needed. `title`: its label, "" for its name.
    """

    name: Line
    title: str = ""
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
    """A flow; a full path begins at its first node. `starts`: names that are in every run's initial state; `may_start`:
    names that are in some runs'. `tells_subjects`: a node calls tools that tell whom a call is about."""

    name: Line
    description: str
    nodes: tuple[NodeSpec, ...]
    starts: tuple[Line, ...] = ("request",)
    may_start: tuple[Line, ...] = ()
    tells_subjects: bool = Field(False, exclude_if=is_empty)

    def node(self, name: str) -> NodeSpec | None:
        return next((node for node in self.nodes if node.name == name), None)


class ListFlows(Value):
    """A request for all flows; with a session, also for the initial state of each."""

    session_id: str = ""


class FlowPage(Value):
    """All flows. `states`: initial states by flow. `troubles`: flows that could not be loaded, and why."""

    flows: tuple[FlowSpec, ...]
    states: dict[str, dict[str, JsonValue]] = Field(default_factory=dict)
    troubles: tuple[str, ...] = ()

    def flow(self, name: str) -> FlowSpec | None:
        return next((flow for flow in self.flows if flow.name == name), None)


class FlowView(FlowSpec):
    """A flow with its default path from the first node to an end."""

    full_path: tuple[Line, ...]


class FlowList(Value):
    """All flows. `troubles`: flows that could not be loaded, and why."""

    flows: tuple[FlowView, ...]
    troubles: tuple[str, ...] = ()


class PathCheck(Value):
    """The problems of a path, as sentences; without any it can be saved.

    `lacking`: values that its nodes need and no node produces, which a person may set. `rest`: the default path from
    its last node to an end, as `<flow>.<node>`.
    """

    problems: tuple[str, ...]
    lacking: tuple[str, ...]
    rest: tuple[str, ...]


def tool_of(flow: str, node: str) -> str:
    return f"{flow}.{node}"
