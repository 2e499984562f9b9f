"""The way through a flow: its state, where conditions lead, and what the next node runs with. Pure."""

import json
from collections.abc import Mapping
from contextlib import suppress
from typing import NamedTuple

from pydantic import JsonValue

from parley.conditions import Condition
from parley.events.values import ActionSpec
from parley.flow import NEXT, Flow, FlowRequest, Node, Outputs
from parley.protocol.flows import FlowSpec, NodeSpec, tool_of
from shared.domain.memory import history, key_of
from shared.domain.paths import made, named
from shared.domain.said import said_before
from shared.domain.session import Session
from shared.domain.state import Action, Turn
from shared.flows import PERSON, full_path, shortened, split


class Elsewhere(NamedTuple):
    """Another rest of the path, and why."""

    rest: tuple[ActionSpec, ...]
    why: str


def opening(flow: Flow, session: Session) -> Outputs:
    """What this flow's state would hold if the session's request were run by it now."""
    words = session.words
    earlier = session.flow_results.get(flow.name, ())
    return flow.opening(FlowRequest(words.request, words.feedback, earlier, said_before(session)))


def state_of(flow: Flow, session: Session) -> Outputs:
    """What the nodes of this flow can know now. Of a flow that was walked before it: its findings, shortened."""
    found = made(session.turn)
    others = [shortened(state) for name, state in found.items() if name != flow.name]
    findings: Outputs = {"findings": _without_next(others[-1])} if others else {}
    mine = found.get(flow.name, {})
    return opening(flow, session) | findings | _done_before(flow.name, session) | _without_next(mine)


def _done_before(flow: str, session: Session) -> Outputs:
    """What skipped nodes made when they were run for the same request, as far as memory still has it whole."""
    made_then = {deed.key: deed.text for deed in history(session.memory, session.turn) if deed.status == "finished"}
    state: Outputs = {}
    for action in session.turn.actions if session.turn else ():
        spec = action.spec
        if spec.decision == "skip" and split(spec.tool)[0] == flow:
            with suppress(ValueError):
                outputs = json.loads(made_then.get(key_of(spec.tool, spec.arguments), ""))
                state |= outputs if isinstance(outputs, dict) else {}
    return _without_next(state)


def _without_next(state: Mapping[str, JsonValue]) -> Outputs:
    return {name: value for name, value in state.items() if name != NEXT}


def given(flow: str, turn: Turn | None) -> frozenset[str]:
    """The names whose newest value a person has set."""
    names: frozenset[str] = frozenset()
    for action in turn.actions if turn else ():
        its_flow, node = split(action.spec.tool)
        if its_flow == flow and action.status == "finished" and isinstance(action.result, dict):
            names = names | action.result.keys() if node == PERSON else names - action.result.keys()
    return names


def elsewhere(flow: Flow, session: Session, rest: tuple[Action, ...]) -> Elsewhere | None:
    """Where the last node leads, if that is not where the path goes on. `rest`: what has not begun, in order."""
    if session.turn and session.turn.chosen == rest[0].spec.id:
        return None
    spec = flow.spec()
    last = _last(session.turn)
    node = spec.node(split(last.spec.tool)[1]) if last and split(last.spec.tool)[0] == flow.name else None
    if last is None or node is None:
        return None  # the beginning of a flow, or of what a person wanted
    target, why = _led(node, last, state_of(flow, session))
    if not target or tool_of(flow.name, target) == rest[0].spec.tool:
        return None
    return Elsewhere(_way(spec, target, [action.spec for action in rest]), f"{node.name}: {why}"[:5_000])


def _last(turn: Turn | None) -> Action | None:
    """What was passed last: it ran, or it had been done before."""
    passed = [a for a in (turn.actions if turn else ()) if a.status == "finished" or a.spec.decision == "skip"]
    return passed[-1] if passed else None


def _led(node: NodeSpec, last: Action, state: Outputs) -> tuple[str, str]:
    """The node that the result names, or the first whose condition is true; and the words for it."""
    named = last.result.get(NEXT) if isinstance(last.result, dict) else None
    if isinstance(named, str) and named in node.possible_next_nodes:
        return named, f"its result leads to {named}"
    for name in node.possible_next_nodes:
        text = node.conditions.get(name)
        if text and Condition(text).holds(state):
            return name, text
    return "", ""


def _way(flow: FlowSpec, target: str, planned: list[ActionSpec]) -> tuple[ActionSpec, ...]:
    """The planned rest from the target on, if it is there; else the ordinary way from it to the flow's end.

    What is planned in a flow after this one stays as it is.
    """
    here = [spec.tool for spec in planned if split(spec.tool)[0] == flow.name]
    after = [spec for spec in planned if split(spec.tool)[0] != flow.name]
    tool = tool_of(flow.name, target)
    ordinary = [tool_of(flow.name, name) for name in full_path(flow, target)]
    tools = here[here.index(tool) :] if tool in here else ordinary
    return (*(bare(flow, one) for one in tools), *after)


def bare(flow: FlowSpec, tool: str) -> ActionSpec:
    """A node as an action; what it runs with is said right before it begins."""
    node = flow.node(split(tool)[1])
    return named(tool, node.description if node else "")


def confirmed(node: Node, session: Session, tool: str) -> bool:
    """Whether a person looks at what this node is about to run with, because the node wants it so."""
    wanted = session.settings.confirm != "nothing" and session.policies.get(tool) != "never"
    return bool(node.spec.confirm) and wanted
