"""A flow: a graph of described nodes. Describes nodes, what they run with, and what they return."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from pydantic import JsonValue

from parley.events.values import Effect
from parley.protocol.flows import FlowSpec, NodeSpec
from parley.reply import Reply

type State = Mapping[str, JsonValue]
type Outputs = dict[str, JsonValue]
NEXT = "next"  # the key under which a node's result names the next node


class NodeFailed(Exception):
    """The node failed; the text says why. `unknown`: it is not known whether it took effect."""

    def __init__(self, message: str, *, unknown: bool = False) -> None:
        super().__init__(message)
        self.unknown = unknown


class NodeResult(NamedTuple):
    """A node's outputs, and the next node if the node chooses it itself."""

    outputs: Outputs
    next: str = ""


class NodeQuestion(NamedTuple):
    """A question to the user. `form` has it as structured data, for clients that show more than text."""

    text: str
    options: tuple[str, ...] = ()
    form: dict[str, JsonValue] | None = None


class ToolAnswer(NamedTuple):
    """The answer of a registered tool. `unknown`: it is not known whether the call took effect."""

    ok: bool
    value: JsonValue = None
    error: str = ""
    unknown: bool = False


class AskModel(Protocol):
    """Asks a model for a typed reply.

    A node should let its exceptions propagate: the executor waits, retries, or reports the failure.
    """

    async def __call__[R: Reply](
        self, task: str, rules: str, sections: Mapping[str, str | Iterable[str] | None], reply: type[R]
    ) -> R: ...


class CallTool(Protocol):
    """Calls a registered tool, under the node's idempotency key. `key` tells several calls of one node apart."""

    async def __call__(self, name: str, arguments: State, key: str = "") -> ToolAnswer: ...


@dataclass(frozen=True)
class NodeRun:
    """One run of a node. `answer` is the user's answer to its question, None if the user was not asked.

    `user_set` are the names in the state that the user has set. `flows` are all available flows.
    """

    state: State
    ask_model: AskModel
    call_tool: CallTool
    answer: str | None = None
    arguments: State = field(default_factory=dict)
    user_set: frozenset[str] = frozenset()
    user: str = ""
    flows: tuple[FlowSpec, ...] = ()

    def text(self, name: str) -> str:
        """A value of the state as text, "" if it is missing."""
        value = self.state.get(name)
        return value if isinstance(value, str) else "" if value is None else str(value)


type NodeFunction = Callable[[NodeRun], Awaitable[Outputs | NodeResult]]
type QuestionFunction = Callable[[State], Awaitable[NodeQuestion]]


@dataclass(frozen=True)
class Node:
    """One node. `asks` makes its question to the user.

    `proposes`: in a session that confirms nothing, the node does not ask but continues with its own proposal. A node
    that does not propose always asks. `tool` is the registered tool that the node calls, if it makes exactly one call;
    `resolves` makes the arguments of that call. `tools` are all registered tools that it may call, if that is known.
    """

    spec: NodeSpec
    run: NodeFunction
    asks: QuestionFunction | None = None
    proposes: bool = True
    tool: str = ""
    resolves: Callable[[State], Outputs] | None = None
    tools: tuple[str, ...] = ()

    def resolved(self, state: State) -> Outputs:
        """The arguments that the node would run with now; an approval is bound to them. Raises NodeFailed.

        They include the optional values if the node changes something, but not if it only reads.
        """
        if missing := self.missing(state):
            raise NodeFailed(f"{self.spec.name} needs {', '.join(missing)}, which nothing before it has made.")
        if self.resolves is None:
            names = self.spec.inputs if self.spec.effect == "read" else (*self.spec.inputs, *self.spec.optional)
            return {name: state[name] for name in names if name in state}
        arguments = self.resolves(state)
        if unknown := [name for name, value in arguments.items() if value is None]:
            raise NodeFailed(f"{self.spec.name} calls {self.tool}, and nothing says what its {', '.join(unknown)} is.")
        return arguments

    def missing(self, state: State) -> list[str]:
        return [name for name in self.spec.inputs if name not in state]


class MarkedMethod(NamedTuple):
    """A method of a flow class marked as a node."""

    spec: NodeSpec
    run: Callable[[Any, NodeRun], Awaitable[Outputs | NodeResult]]
    asks: Callable[[Any, State], Awaitable[NodeQuestion]] | None
    proposes: bool

    def bound(self, flow: object) -> Node:
        asks = partial(self.asks, flow) if self.asks else None
        return Node(self.spec, partial(self.run, flow), asks, self.proposes)


def node(  # noqa: PLR0913  one parameter for each field of the description
    description: str,
    *,
    title: str = "",
    inputs: tuple[str, ...] = (),
    optional: tuple[str, ...] = (),
    outputs: tuple[str, ...] = (),
    possible_next_nodes: tuple[str, ...] = (),
    conditions: Mapping[str, str] | None = None,
    asks: Callable[[Any, State], Awaitable[NodeQuestion]] | None = None,
    proposes: bool = True,
    confirm: str = "",
    effect: Effect = "read",
) -> Callable[[Callable[[Any, NodeRun], Awaitable[Outputs | NodeResult]]], MarkedMethod]:
    """A decorator that makes a method a node of the same name. Its parameters are fields of `NodeSpec` and `Node`."""

    def mark(method: Callable[[Any, NodeRun], Awaitable[Outputs | NodeResult]]) -> MarkedMethod:
        spec = NodeSpec(
            name=getattr(method, "__name__", ""),
            title=title,
            description=description,
            inputs=inputs,
            optional=optional,
            outputs=outputs,
            possible_next_nodes=possible_next_nodes,
            conditions=dict(conditions or {}),
            asks=asks is not None,
            confirm=confirm,
            effect=effect,
        )
        return MarkedMethod(spec, method, asks, proposes)

    return mark


class FlowRequest(NamedTuple):
    """The request that a flow runs for. `earlier` are the final states of the session's earlier runs, oldest first.

    `conversation` has the messages of a preceding chat, or else the last question and its answer, as `role: text`,
    separated by blank lines. `so_far` are the outputs of an earlier path for this request, which was given up.
    """

    request: str
    feedback: Sequence[str] = ()
    earlier: Sequence[State] = ()
    conversation: str = ""
    so_far: State = MappingProxyType({})


class Flow:
    """A flow written in Python: a subclass whose nodes are methods under `@node`, in the order of the full path.

    `starts` names the values that every initial state has, `may_start` those that it may have.
    """

    name: str = ""
    description: str = ""
    starts: tuple[str, ...] = ("request",)
    may_start: tuple[str, ...] = ("feedback", "findings", "conversation")

    def __init_subclass__(cls) -> None:
        """Raises TypeError for a node named like an attribute of `Flow`, or an undecorated override of a node."""
        super().__init_subclass__()
        for name, member in vars(cls).items():
            if isinstance(member, MarkedMethod) and hasattr(Flow, name):
                raise TypeError(f"{cls.__name__}.{name} cannot be a node: every flow has a “{name}” of its own.")
            if not isinstance(member, MarkedMethod) and isinstance(getattr(super(cls, cls), name, None), MarkedMethod):
                raise TypeError(f"{cls.__name__}.{name} takes the place of a node: put @node(…) above it.")

    def nodes(self) -> Sequence[Node]:
        """All nodes; the full path starts at the first. A subclass's node replaces its base's."""
        marked: dict[str, MarkedMethod] = {}
        for base in reversed(type(self).__mro__):
            marked |= {name: member for name, member in vars(base).items() if isinstance(member, MarkedMethod)}
        return tuple(member.bound(self) for member in marked.values())

    def opening(self, request: FlowRequest) -> Outputs:
        """The initial state of a run: the request, the conversation before it, and the feedback since.

        Leaves out feedback that only names this flow, which answers the question which flow to use.
        """
        feedback = [words for words in request.feedback if "_".join(words.lower().split()) != self.name.lower()]
        state: Outputs = {"request": request.request}
        if request.conversation:
            state["conversation"] = request.conversation
        return state | {"feedback": "\n".join(feedback)} if feedback else state

    def spec(self) -> FlowSpec:
        return self._spec

    @cached_property
    def _spec(self) -> FlowSpec:
        return FlowSpec(
            name=self.name,
            description=self.description,
            nodes=tuple(node.spec for node in self.nodes()),
            starts=self.starts,
            may_start=self.may_start,
        )

    def node(self, name: str) -> Node | None:
        return next((node for node in self.nodes() if node.spec.name == name), None)
