"""What services tell each other about flows: a flow is a graph of described nodes, and `<flow>.<node>` is called as a
tool."""

from pydantic import Field, JsonValue

from parley.events.values import Effect, Line, Value

FLOWS_LIST = "flows.list"  # ListFlows -> FlowPage


class NodeSpec(Value):
    """One node. The first of `possible_next_nodes` is the ordinary one; none: the flow ends here.

    `inputs` must be in the state before it runs, `optional` may be. `conditions` tell by next node when the path leads
    there, as expressions over the state. `asks`: it asks the person. `confirm`: why a person looks at its inputs
    before it runs, "" if nobody has to. `title`: what people call it, "" for its name.
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


class PathCheck(Value):
    """What is wrong with a path, in sentences; none: it can be saved.

    `lacking`: values that its nodes need and nothing makes, which a person may set by hand. `rest`: the ordinary way
    from its last node to an end, as `<flow>.<node>`.
    """

    problems: tuple[str, ...]
    lacking: tuple[str, ...]
    rest: tuple[str, ...]


def tool_of(flow: str, node: str) -> str:
    return f"{flow}.{node}"
