"""A flow: a graph of described nodes. How a node is described, what it is given to run with, what it may say."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple, Protocol

from pydantic import JsonValue

from parley.events.values import Effect
from parley.protocol.flows import FlowSpec, NodeSpec
from parley.reply import Reply

type State = Mapping[str, JsonValue]
type Outputs = dict[str, JsonValue]
NEXT = "next"  # where a node's result names the node that it leads to itself


class NodeFailed(Exception):
    """The node cannot do its work; the text says why. `unknown`: nobody can tell whether it took effect."""

    def __init__(self, message: str, *, unknown: bool = False) -> None:
        super().__init__(message)
        self.unknown = unknown


class Made(NamedTuple):
    """What a node has made, and the node it leads to if it says so itself."""

    outputs: Outputs
    next: str = ""


class Asked(NamedTuple):
    """A question to the person; `form` says it in values, for a page that can show more than words."""

    text: str
    options: tuple[str, ...] = ()
    form: dict[str, JsonValue] | None = None


class ToolAnswer(NamedTuple):
    """What a registered tool said. `unknown`: nobody can tell whether the call took effect."""

    ok: bool
    value: JsonValue = None
    error: str = ""
    unknown: bool = False


class AskModel(Protocol):
    """One typed question. A node lets its exceptions pass: the executor waits, tries again, or reports the failure."""

    async def __call__[R: Reply](
        self, task: str, rules: str, sections: Mapping[str, str | Iterable[str] | None], reply: type[R]
    ) -> R: ...


class CallTool(Protocol):
    """One call of a registered tool, under the node's own idempotency key unless another part of it is named."""

    async def __call__(self, name: str, arguments: State, key: str = "") -> ToolAnswer: ...


@dataclass(frozen=True)
class Run:
    """One run of a node. `answer`: what the person said to its question, None if nobody was asked.

    `given` are the names in the state that the person set. `flows` are all flows there are.
    """

    state: State
    ask_model: AskModel
    call_tool: CallTool
    answer: str | None = None
    arguments: State = field(default_factory=dict)
    given: frozenset[str] = frozenset()
    user: str = ""
    flows: tuple[FlowSpec, ...] = ()

    def text(self, name: str) -> str:
        """A value as a text, "" where there is none."""
        value = self.state.get(name)
        return value if isinstance(value, str) else "" if value is None else str(value)


type Runs = Callable[[Run], Awaitable[Outputs | Made]]
type Asks = Callable[[State], Awaitable[Asked]]


@dataclass(frozen=True)
class Node:
    """`asks` makes its question to the person. `proposes`: where the session confirms nothing, the node is not asked
    about, and goes on with a proposal of its own; a node without a proposal is asked about even then.

    `tool` is the registered tool that it calls, if it is one call; `resolves` makes that call's arguments.
    """

    spec: NodeSpec
    run: Runs
    asks: Asks | None = None
    proposes: bool = True
    tool: str = ""
    resolves: Callable[[State], Outputs] | None = None

    def resolved(self, state: State) -> Outputs:
        """What it would run with now: what an approval is bound to. Raises NodeFailed.

        The optional values are part of it for a node that changes something, but not for one that only reads.
        """
        if missing := self.missing(state):
            raise NodeFailed(f"{self.spec.name} needs {', '.join(missing)}, which nothing before it has made.")
        if self.resolves is None:
            taken = self.spec.inputs if self.spec.effect == "read" else (*self.spec.inputs, *self.spec.optional)
            return {name: state[name] for name in taken if name in state}
        arguments = self.resolves(state)
        if unknown := [name for name, value in arguments.items() if value is None]:
            raise NodeFailed(f"{self.spec.name} calls {self.tool}, and nothing says what its {', '.join(unknown)} is.")
        return arguments

    def missing(self, state: State) -> list[str]:
        return [name for name in self.spec.inputs if name not in state]


class Marked(NamedTuple):
    """A method of a flow's class that is a node."""

    spec: NodeSpec
    run: Callable[[Any, Run], Awaitable[Outputs | Made]]
    asks: Callable[[Any, State], Awaitable[Asked]] | None
    proposes: bool

    def bound(self, flow: object) -> Node:
        asks = partial(self.asks, flow) if self.asks else None
        return Node(self.spec, partial(self.run, flow), asks, self.proposes)


def node(  # noqa: PLR0913  a description has as many sides
    description: str,
    *,
    title: str = "",
    inputs: tuple[str, ...] = (),
    optional: tuple[str, ...] = (),
    outputs: tuple[str, ...] = (),
    possible_next_nodes: tuple[str, ...] = (),
    conditions: Mapping[str, str] | None = None,
    asks: Callable[[Any, State], Awaitable[Asked]] | None = None,
    proposes: bool = True,
    confirm: str = "",
    effect: Effect = "read",
) -> Callable[[Callable[[Any, Run], Awaitable[Outputs | Made]]], Marked]:
    """Make a node of a method; its name is the method's. The parameters are the fields of `NodeSpec` and `Node`."""

    def mark(method: Callable[[Any, Run], Awaitable[Outputs | Made]]) -> Marked:
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
        return Marked(spec, method, asks, proposes)

    return mark


class FlowRequest(NamedTuple):
    """What a flow is run for. `earlier`: the states in which this session's earlier runs of it ended, oldest first.

    `conversation`: the messages that a chat brought along, as `role: text`, a blank line between two of them.
    """

    request: str
    feedback: Sequence[str] = ()
    earlier: Sequence[State] = ()
    conversation: str = ""


class Flow:
    """A flow written in Python: a subclass whose nodes are methods under `@node`, in the order of its full walk.

    `starts` is what every run's state holds from the start, `may_start` what some do.
    """

    name: str = ""
    description: str = ""
    starts: tuple[str, ...] = ("request",)
    may_start: tuple[str, ...] = ("feedback", "findings", "conversation")

    def __init_subclass__(cls) -> None:
        """Raises TypeError where a method would silently not be the node it looks like, or would hide `Flow`'s own."""
        super().__init_subclass__()
        for name, one in vars(cls).items():
            if isinstance(one, Marked) and hasattr(Flow, name):
                raise TypeError(f"{cls.__name__}.{name} cannot be a node: every flow has a “{name}” of its own.")
            if not isinstance(one, Marked) and isinstance(getattr(super(cls, cls), name, None), Marked):
                raise TypeError(f"{cls.__name__}.{name} takes the place of a node: put @node(…) above it.")

    def nodes(self) -> Sequence[Node]:
        """All nodes; a full walk begins at the first. A subclass's node takes the place of its base's."""
        marked: dict[str, Marked] = {}
        for base in reversed(type(self).__mro__):
            marked |= {name: one for name, one in vars(base).items() if isinstance(one, Marked)}
        return tuple(one.bound(self) for one in marked.values())

    def opening(self, asked: FlowRequest) -> Outputs:
        """What the state of a run begins with: the request, and what was said before it and about it since.

        Feedback that is only this flow's name, the answer to a question which flow is meant, is left out.
        """
        said = [words for words in asked.feedback if "_".join(words.lower().split()) != self.name.lower()]
        state: Outputs = {"request": asked.request}
        if asked.conversation:
            state["conversation"] = asked.conversation
        return state | {"feedback": "\n".join(said)} if said else state

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
