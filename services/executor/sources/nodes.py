"""Nodes of flows as tools of the executor: `<flow>.<node>`, run with the flow's state and recorded as actions."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

from pydantic import JsonValue
from pydantic_core import to_json, to_jsonable_python

from flows.loading import Flows
from parley.events.values import ToolPolicy
from parley.flow import NEXT, Flow, Node, NodeFailed, NodeResult, NodeRun, Outputs, ToolAnswer
from parley.protocol.flows import FlowSpec, tool_of
from parley.protocol.tools import Preview, ToolSpec
from parley.reply import Reply
from services.executor.flow_routing import state_of, user_set_names
from services.executor.tools import Arguments, RegisteredTool, Registry, ToolInvocation, ToolResult, call_with_timeout
from shared.domain.kernel.session import Session
from shared.domain.plan.policy import STRENGTH
from shared.domain.workflows.flow import path_of
from shared.llm.sections import prompt

ORIGIN = "flow:"
MAX_OUTPUTS = 200_000  # bytes of a node's outputs in its event, where later nodes read them
MAX_PATH_OUTPUTS = 2_000_000  # bytes of the outputs of all nodes of a path: services exchange the complete session
TIMEOUT = 3600.0  # the node's own model and tool calls have shorter deadlines


class NodeTools:
    """A source of tools. `registered` has the tools that nodes may call; nodes are not among them."""

    def __init__(self, flows: Flows, registered: Registry) -> None:
        self._flows = flows
        self._registered = registered
        self._nodes = {(flow.name, node.spec.name): (flow, node) for flow in flows.all() for node in flow.nodes()}
        self._tools = tuple(self._tool(flow, node) for flow, node in self._nodes.values())

    @property
    def version(self) -> int:
        """Follows the registered tools, from which nodes take policy and effect."""
        return self._registered.version

    def tools(self) -> Iterable[RegisteredTool]:
        registered = self._registered.all()
        return (
            _with_called_tool(tool, called) if (called := registered.get(tool.called_tool)) else tool
            for tool in self._tools
        )

    def troubles(self) -> Iterable[str]:
        return self._flows.troubles

    def flows(self) -> tuple[Flow, ...]:
        return self._flows.all()

    def specs(self) -> tuple[FlowSpec, ...]:
        return tuple(self._spec(flow) for flow in self._flows.all())

    def _spec(self, flow: Flow) -> FlowSpec:
        called = (self._registered.find(name) for node in flow.nodes() for name in node.tools)
        tells = any(tool.spec.tells_subjects for tool in called if tool)
        return flow.spec().model_copy(update={"tells_subjects": tells}) if tells else flow.spec()

    def find(self, flow: str, node: str) -> tuple[Flow, Node] | None:
        return self._nodes.get((flow, node))

    def policy(self, session: Session, node: Node) -> ToolPolicy | None:
        """The policy of the registered tool that the node calls."""
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
        run, fails = partial(self._run, flow, node), partial(_cannot_run, flow, node)
        return RegisteredTool(
            spec, run, timeout=TIMEOUT, max_bytes=MAX_OUTPUTS, called_tool=node.tool, cannot_run=fails
        )

    async def _run(self, flow: Flow, node: Node, call: ToolInvocation) -> ToolResult:
        subjects: list[str] = []
        result = await self._result(flow, node, call._replace(subjects=subjects))
        subject = " ".join(dict.fromkeys(filter(None, subjects)))  # of several, it is none of them alone
        return result._replace(subject=subject if subjects else None)

    async def _result(self, flow: Flow, node: Node, call: ToolInvocation) -> ToolResult:
        known = state_of(flow, call.session)
        state = known | dict(call.arguments)
        try:
            _check_runnable(node, call, known)
            returned = await node.run(self._node_run(flow, node, call, state))
        except NodeFailed as error:
            return ToolResult(ok=False, error=str(error), unknown=error.unknown)
        outputs, next_node = returned if isinstance(returned, NodeResult) else (returned, "")
        if undeclared := sorted(outputs.keys() - set(node.spec.outputs)):
            return ToolResult(
                ok=False, error=f"{node.spec.name} made {', '.join(undeclared)}, which are not its outputs."
            )
        if next_node and next_node not in node.spec.possible_next_nodes:
            return ToolResult(
                ok=False, error=f"{node.spec.name} leads to “{next_node}”, which is none of its next nodes."
            )
        value: Outputs = to_jsonable_python(outputs | ({NEXT: next_node} if next_node else {}))
        if (size := len(to_json(value))) > MAX_OUTPUTS:
            return ToolResult(
                ok=False, error=f"What {node.spec.name} made has {size} bytes; {MAX_OUTPUTS} are allowed."
            )
        if size + _stored_bytes(call.session) > MAX_PATH_OUTPUTS:
            return ToolResult(
                ok=False,
                error=f"The nodes of this path have made {MAX_PATH_OUTPUTS} bytes already: begin a new request.",
            )
        return ToolResult(ok=True, value=value)

    def _node_run(self, flow: Flow, node: Node, call: ToolInvocation, state: Outputs) -> NodeRun:
        answer = call.action.result if call.action else None
        return NodeRun(
            state=state,
            ask_model=partial(_ask_model, call),
            call_tool=partial(self._call_tool, node, call),
            answer=answer if isinstance(answer, str) else None,
            arguments=call.arguments,
            user_set=user_set_names(flow.name, call.session.turn),
            user=call.session.owner,
            flows=self.specs(),
        )

    async def _call_tool(
        self, node: Node, call: ToolInvocation, name: str, arguments: Arguments, key: str = ""
    ) -> ToolAnswer:
        """Call a registered tool. Its effect may not exceed the effect that the node declares."""
        tool = self._registered.find(name)
        if tool is None:
            return ToolAnswer(ok=False, error=f"There is no tool “{name}”.")
        if tool.policy(call.session) == "deny":
            return ToolAnswer(ok=False, error=f"The tool “{name}” must not be used here.")
        if STRENGTH[tool.spec.effect] > STRENGTH[node.spec.effect]:
            why = f"“{name}” has the effect {tool.spec.effect}, its node {node.spec.name} says {node.spec.effect}."
            return ToolAnswer(ok=False, error=f"{why} Write “effect: {tool.spec.effect}” in the flow.")
        tool_call = ToolInvocation(call.session, f"{call.key}/{key}" if key else call.key, arguments)
        result = await call_with_timeout(tool, lambda: tool.run(tool_call))
        if result.subject is not None and call.subjects is not None:
            call.subjects.append(result.subject)
        if result.files:  # a node's outcome cannot record changed files
            why = f"“{name}” changes files: use it in a turn or a plan, not in a flow."
            return ToolAnswer(ok=False, error=why, unknown=not tool.is_repeatable)
        return ToolAnswer(result.ok, result.value, result.error, result.unknown)


def _with_called_tool(tool: RegisteredTool, called: RegisteredTool) -> RegisteredTool:
    """The node with policy, key and confirmation of the tool that it calls."""
    fields = {name: getattr(called.spec, name) for name in ("policy", "keyed", "confirm")}
    spec = tool.spec.model_copy(update=fields)
    return tool._replace(spec=spec, preview=partial(_preview, called) if called.preview else None)


def _stored_bytes(session: Session) -> int:
    results = [action.result for action in session.turn.actions] if session.turn else []
    return sum(len(to_json(result)) for result in results if result is not None)


def _cannot_run(flow: Flow, node: Node, session: Session) -> bool:
    try:
        node.resolved(state_of(flow, session))
    except NodeFailed:
        return True
    return False


def _check_runnable(node: Node, call: ToolInvocation, state: Mapping[str, JsonValue]) -> None:
    """Raises NodeFailed if an input is missing, or the arguments are not those that were approved."""
    if path_of(call.session.turn) is None:
        raise NodeFailed(f"{node.spec.name} is a node of a flow: it runs on a path, not by itself.")
    if missing := node.missing(state):
        raise NodeFailed(f"{node.spec.name} needs {', '.join(missing)}, which nothing before it has made.")
    changes = node.spec.effect != "read"
    resolved = node.resolved(state) if changes or call.arguments else {}
    if changes and (call.action is None or call.action.spec.effect != node.spec.effect):
        raise NodeFailed(f"{node.spec.name} changes something, and the user has not seen what it would change.")
    if call.arguments != resolved:
        raise NodeFailed(f"{node.spec.name} was to run with other values than its path has made.", unknown=changes)


async def _ask_model[R: Reply](
    call: ToolInvocation, task: str, rules: str, sections: Mapping[str, str | Iterable[str] | None], reply: type[R]
) -> R:
    if call.context is None or call.action is None:
        raise NodeFailed("Only a node of a path can ask a model.")
    messages = prompt("executor", task, rules, sections, zone=call.session.time_zone)
    return await call.context.ask(messages, reply, kind="node", render=_render_partial, action_id=call.action.spec.id)


def _render_partial(partial_reply: Mapping[str, Any]) -> str:
    """The text that the node has written so far."""
    outputs = partial_reply.get("outputs")
    fields = outputs if isinstance(outputs, Mapping) else partial_reply
    return "\n\n".join(value for name, value in fields.items() if name != "kind" and isinstance(value, str) and value)


async def _preview(called: RegisteredTool, session: Session, arguments: Arguments) -> Preview:
    return await called.preview(session, arguments) if called.preview else Preview(known=False)
