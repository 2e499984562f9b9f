"""Routing on a path through a flow: the flow's state, and where conditions lead. Pure."""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import NamedTuple

from pydantic import JsonValue

from parley.conditions import Condition
from parley.events.values import ActionSpec
from parley.flow import NEXT, Flow, FlowRequest, Node, Outputs
from parley.protocol.flows import FlowSpec, NodeSpec, tool_of
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Action, Turn
from shared.domain.transcript.memory import ActionRecord, action_history, key_of
from shared.domain.transcript.messages import chat_history
from shared.domain.transcript.queries import last_exchange, said_since_request
from shared.domain.turn.flow_paths import as_action, outputs
from shared.flows import PERSON_NODE, full_path, shorten_state, split_tool_name


class Reroute(NamedTuple):
    """The new rest of the path, and why."""

    rest: tuple[ActionSpec, ...]
    why: str


def initial_state(flow: Flow, session: Session) -> Outputs:
    """The flow's initial state for the session's request."""
    words = session.words
    earlier = session.flow_results.get(flow.name, ())
    conversation = chat_history(session) or last_exchange(session)
    so_far = _outputs_in_memory(flow.name, session.memory.deeds)
    return flow.opening(FlowRequest(words.request, said_since_request(session), earlier, conversation, so_far))


def _outputs_in_memory(flow: str, done: Iterable[ActionRecord]) -> Outputs:
    """The outputs of this flow's nodes, as far as the session's memory has them complete; later ones count."""
    state: Outputs = {}
    for past in done:
        if past.status == "finished" and split_tool_name(past.tool)[0] == flow:
            state |= _outputs_of(past)
    return state


def _outputs_of(past: ActionRecord) -> Outputs:
    with suppress(ValueError):
        outputs = json.loads(past.text)
        return _without_next(outputs) if isinstance(outputs, dict) else {}
    return {}


def state_of(flow: Flow, session: Session) -> Outputs:
    """The state that the nodes of this flow read, with shortened findings of a flow walked before it."""
    states = outputs(session.turn)
    others = [shorten_state(state) for name, state in states.items() if name != flow.name]
    findings: Outputs = {"findings": _without_next(others[-1])} if others else {}
    own = states.get(flow.name, {})
    return initial_state(flow, session) | findings | _skipped_outputs(flow.name, session) | _without_next(own)


def _skipped_outputs(flow: str, session: Session) -> Outputs:
    """The outputs of skipped nodes from their earlier runs, as far as the session's memory has them complete."""
    specs = [action.spec for action in session.turn.actions] if session.turn else []
    skipped = {key_of(spec.tool, spec.arguments) for spec in specs if spec.decision == "skip"}
    past = action_history(session.memory, session.turn)
    return _outputs_in_memory(flow, (record for record in past if record.key in skipped))


def _without_next(state: Mapping[str, JsonValue]) -> Outputs:
    return {name: value for name, value in state.items() if name != NEXT}


def user_set_names(flow: str, turn: Turn | None) -> frozenset[str]:
    """The names whose current value the user has set."""
    names: frozenset[str] = frozenset()
    for action in turn.actions if turn else ():
        action_flow, node = split_tool_name(action.spec.tool)
        if action_flow == flow and action.status == "finished" and isinstance(action.result, dict):
            names = names | action.result.keys() if node == PERSON_NODE else names - action.result.keys()
    return names


def reroute(flow: Flow, session: Session, rest: tuple[Action, ...]) -> Reroute | None:
    """The new rest of the path if the last node leads elsewhere. `rest` are the actions not started, in order."""
    if session.turn and session.turn.chosen == rest[0].spec.id:
        return None
    spec = flow.spec()
    last = _last(session.turn)
    node = (
        spec.node(split_tool_name(last.spec.tool)[1])
        if last and split_tool_name(last.spec.tool)[0] == flow.name
        else None
    )
    if last is None or node is None:
        return None  # the start of a flow, or a node that the user chose
    target, why = _next_node(node, last, state_of(flow, session))
    if not target or tool_of(flow.name, target) == rest[0].spec.tool:
        return None
    return Reroute(_rest_from(spec, target, [action.spec for action in rest]), f"{node.name}: {why}"[:5_000])


def _last(turn: Turn | None) -> Action | None:
    """The last action that ran or was done before."""
    passed = [a for a in (turn.actions if turn else ()) if a.status == "finished" or a.spec.decision == "skip"]
    return passed[-1] if passed else None


def _next_node(node: NodeSpec, last: Action, state: Outputs) -> tuple[str, str]:
    """The node that the result names, or the first whose condition holds; and the reason in words."""
    named = last.result.get(NEXT) if isinstance(last.result, dict) else None
    if isinstance(named, str) and named in node.possible_next_nodes:
        return named, f"its result leads to {named}"
    for name in node.possible_next_nodes:
        text = node.conditions.get(name)
        if text and Condition(text).holds(state):
            return name, text
    return "", ""


def _rest_from(flow: FlowSpec, target: str, planned: list[ActionSpec]) -> tuple[ActionSpec, ...]:
    """The planned rest from the target on if the plan has it; otherwise the full graph from the target.

    Actions of a later flow stay as they are.
    """
    own = [spec.tool for spec in planned if split_tool_name(spec.tool)[0] == flow.name]
    after = [spec for spec in planned if split_tool_name(spec.tool)[0] != flow.name]
    tool = tool_of(flow.name, target)
    default = [tool_of(flow.name, name) for name in full_path(flow, target)]
    tools = own[own.index(tool) :] if tool in own else default
    return (*(node_action(flow, tool_name) for tool_name in tools), *after)


def node_action(flow: FlowSpec, tool: str) -> ActionSpec:
    """A node as an action. The guide sets its arguments right before it starts."""
    node = flow.node(split_tool_name(tool)[1])
    return as_action(tool, node.description if node else "")


def needs_confirmation(node: Node, session: Session, tool: str) -> bool:
    """Whether the node asks for the user's confirmation before it runs."""
    is_asked = session.settings.confirm != "nothing" and session.policies.get(tool) != "never"
    return bool(node.spec.confirm) and is_asked
