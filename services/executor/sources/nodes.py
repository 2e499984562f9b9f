"""Nodes of flows as tools of the executor: `<flow>.<node>`, called with the flow's state and recorded as any action."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from pydantic import JsonValue
from pydantic_core import to_json, to_jsonable_python

from flows.loading import Flows
from parley.events.values import ToolPolicy
from parley.flow import NEXT, Flow, Made, Node, NodeFailed, Outputs, Run, ToolAnswer
from parley.protocol.flows import FlowSpec, tool_of
from parley.protocol.tools import Preview, ToolSpec
from parley.reply import Reply
from services.executor.calling import bounded
from services.executor.tools import Arguments, Call, RegisteredTool, Registry, Result
from services.executor.walking import given, state_of
from shared.domain.policy import STRENGTH
from shared.domain.session import Session
from shared.domain.workflows.flow import path_of
from shared.llm.sections import prompt

ORIGIN = "flow:"
LARGEST = 200_000  # bytes of a node's outputs in its event, where later nodes read them
ALL = 2_000_000  # bytes of what all nodes of a path have made: their session is sent whole to whoever works on it
SECONDS = 3600.0  # what a node asks and calls has deadlines of its own


class NodeTools:
    """A source of tools. `registered`: the tools that nodes may call, which come and go; a node is none of them."""

    def __init__(self, flows: Flows, registered: Registry) -> None:
        self._flows = flows
        self._registered = registered
        self._nodes = {(flow.name, node.spec.name): (flow, node) for flow in flows.all() for node in flow.nodes()}
        self._tools = tuple(self._tool(flow, node) for flow, node in self._nodes.values())

    @property
    def version(self) -> int:
        """A node has what the tool that it calls says of itself."""
        return self._registered.version

    def tools(self) -> Iterable[RegisteredTool]:
        registered = self._registered.all()
        return (_calling(tool, called) if (called := registered.get(tool.calls)) else tool for tool in self._tools)

    def troubles(self) -> Iterable[str]:
        return self._flows.troubles

    def flows(self) -> tuple[Flow, ...]:
        return self._flows.all()

    def specs(self) -> tuple[FlowSpec, ...]:
        return tuple(flow.spec() for flow in self._flows.all())

    def find(self, flow: str, node: str) -> tuple[Flow, Node] | None:
        return self._nodes.get((flow, node))

    def policy(self, session: Session, node: Node) -> ToolPolicy | None:
        """What holds for the registered tool that the node calls holds for the node."""
        called = self._registered.find(node.tool) if node.tool else None
        return called.policy(session) if called else None

    def _tool(self, flow: Flow, node: Node) -> RegisteredTool:
        spec = ToolSpec(
            name=tool_of(flow.name, node.spec.name),
            description=node.spec.description,
            parameters={"type": "object", "properties": {name: {} for name in node.spec.inputs}},
            effect=node.spec.effect,
            origin=f"{ORIGIN}{flow.name}",
        )
        run, fails = partial(self._run, flow, node), partial(_fails, flow, node)
        return RegisteredTool(spec, run, seconds=SECONDS, largest=LARGEST, calls=node.tool, fails=fails)

    async def _run(self, flow: Flow, node: Node, call: Call) -> Result:
        known = state_of(flow, call.session)
        state = known | dict(call.arguments)
        try:
            _may_run(node, call, known)
            made = await node.run(self._run_of(flow, node, call, state))
        except NodeFailed as error:
            return Result(ok=False, error=str(error), unknown=error.unknown)
        outputs, leads_to = made if isinstance(made, Made) else (made, "")
        if strange := sorted(outputs.keys() - set(node.spec.outputs)):
            return Result(ok=False, error=f"{node.spec.name} made {', '.join(strange)}, which are not its outputs.")
        if leads_to and leads_to not in node.spec.possible_next_nodes:
            return Result(ok=False, error=f"{node.spec.name} leads to “{leads_to}”, which is none of its next nodes.")
        value: Outputs = to_jsonable_python(outputs | ({NEXT: leads_to} if leads_to else {}))
        if (size := len(to_json(value))) > LARGEST:
            return Result(ok=False, error=f"What {node.spec.name} made has {size} bytes; {LARGEST} are allowed.")
        if size + _made_before(call.session) > ALL:
            return Result(ok=False, error=f"The nodes of this path have made {ALL} bytes already: begin a new request.")
        return Result(ok=True, value=value)

    def _run_of(self, flow: Flow, node: Node, call: Call, state: Outputs) -> Run:
        answer = call.action.result if call.action else None
        return Run(
            state=state,
            ask_model=partial(_ask_model, call),
            call_tool=partial(self._call_tool, node, call),
            answer=answer if isinstance(answer, str) else None,
            arguments=call.arguments,
            given=given(flow.name, call.session.turn),
            user=call.session.owner,
            flows=self.specs(),
        )

    async def _call_tool(self, node: Node, call: Call, name: str, arguments: Arguments, key: str = "") -> ToolAnswer:
        """One call of a registered tool; what it may do is what its node says that it does."""
        tool = self._registered.find(name)
        if tool is None:
            return ToolAnswer(ok=False, error=f"There is no tool “{name}”.")
        if tool.policy(call.session) == "deny":
            return ToolAnswer(ok=False, error=f"The tool “{name}” must not be used here.")
        if STRENGTH[tool.spec.effect] > STRENGTH[node.spec.effect]:
            why = f"“{name}” has the effect {tool.spec.effect}, its node {node.spec.name} says {node.spec.effect}."
            return ToolAnswer(ok=False, error=f"{why} Write “effect: {tool.spec.effect}” in the flow.")
        one = Call(call.session, f"{call.key}/{key}" if key else call.key, arguments)
        result = await bounded(tool, lambda: tool.run(one))
        if result.files:  # they would not be in the outcome of the node
            why = f"“{name}” changes files: use it in a turn or a plan, not in a flow."
            return ToolAnswer(ok=False, error=why, unknown=not tool.again)
        return ToolAnswer(result.ok, result.value, result.error, result.unknown)


def _calling(tool: RegisteredTool, called: RegisteredTool) -> RegisteredTool:
    """The node with what the tool that it calls says of itself."""
    its = {name: getattr(called.spec, name) for name in ("policy", "keyed", "confirm")}
    spec = tool.spec.model_copy(update=its)
    return tool._replace(spec=spec, preview=partial(_preview, called) if called.preview else None)


def _made_before(session: Session) -> int:
    made = [action.result for action in session.turn.actions] if session.turn else []
    return sum(len(to_json(result)) for result in made if result is not None)


def _fails(flow: Flow, node: Node, session: Session) -> bool:
    try:
        node.resolved(state_of(flow, session))
    except NodeFailed:
        return True
    return False


def _may_run(node: Node, call: Call, state: Mapping[str, JsonValue]) -> None:
    """Raises NodeFailed: its path has not made what it needs, or what it would run with is not what was shown."""
    if path_of(call.session.turn) is None:
        raise NodeFailed(f"{node.spec.name} is a node of a flow: it runs on a path, not by itself.")
    if missing := node.missing(state):
        raise NodeFailed(f"{node.spec.name} needs {', '.join(missing)}, which nothing before it has made.")
    changes = node.spec.effect != "read"
    resolved = node.resolved(state) if changes or call.arguments else {}
    if changes and (call.action is None or call.action.spec.effect != node.spec.effect):
        raise NodeFailed(f"{node.spec.name} changes something, and what it would change was not shown to anybody.")
    if call.arguments != resolved:
        raise NodeFailed(f"{node.spec.name} was to run with other values than its path has made.", unknown=changes)


async def _ask_model[R: Reply](
    call: Call, task: str, rules: str, sections: Mapping[str, str | Iterable[str] | None], reply: type[R]
) -> R:
    if call.desk is None or call.action is None:
        raise NodeFailed("Only a node of a path can ask a model.")
    messages = prompt("executor", task, rules, sections)
    return await call.desk.ask(messages, reply, kind="node", render=_shown, action_id=call.action.spec.id)


def _shown(partial_reply: Mapping[str, Any]) -> str:
    """What the node has written so far."""
    outputs = partial_reply.get("outputs")
    said = outputs if isinstance(outputs, Mapping) else partial_reply
    return "\n\n".join(value for name, value in said.items() if name != "kind" and isinstance(value, str) and value)


async def _preview(called: RegisteredTool, session: Session, arguments: Arguments) -> Preview:
    return await called.preview(session, arguments) if called.preview else Preview(known=False)
