"""Loads the executor's flows over the bus, and checks a user's path against their graphs."""

import difflib
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from parley.events.values import Step
from parley.protocol import client as m
from parley.protocol.flows import FLOWS_LIST, FlowPage, FlowSpec, ListFlows, NodeSpec, PathCheck
from services.gateway.api_errors import ApiError
from services.gateway.messages.tools import ask_executor
from services.gateway.ports import GatewayBus
from shared.domain.kernel import commands as c
from shared.domain.kernel.errors import Invalid, OutOfTurn
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Plan, Turn
from shared.domain.rules.user_commands import PATH_PHASES
from shared.domain.turn.flow_paths import as_action, outputs, started
from shared.domain.workflows.flow import path_of
from shared.flows import (
    PERSON_NODE,
    chain_problems,
    full_path,
    group_by_flow,
    missing_inputs,
    path_problems,
    split_tool_name,
)

NO_FLOWS = FlowPage(flows=())
MAX_FLOWS = 2  # in one path


class PathPosition(NamedTuple):
    """Progress on a path: the current flow ("" before the first node), the last node, and the names of state values."""

    flow: str = ""
    node: str = ""
    state: frozenset[str] = frozenset()


async def flow_page(bus: GatewayBus, session_id: str = "") -> FlowPage:
    """All flows; with a session, also each flow's initial state. Raises ApiError(unavailable)."""
    return await ask_executor(bus, FLOWS_LIST, ListFlows(session_id=session_id), FlowPage)


def known_flow(name: str, page: FlowPage) -> FlowSpec:
    """The flow with this name. Raises ApiError(not_found), which lists the flows."""
    if flow := page.flow(name):
        return flow
    hint = f"There are {', '.join(other.name for other in page.flows)}." if page.flows else "No flow is registered."
    more = " Some could not be loaded: /api/planning/flows says why." if page.troubles else ""
    raise ApiError("not_found", f"There is no flow “{name[:80]}”.", hint + more)


# --- the remaining path of a running turn


def edited_path(message: m.EditPath, session: Session, page: FlowPage) -> c.EditPath:
    """The command, with each node's description. Raises OutOfTurn, or Invalid with every problem."""
    turn = walking_turn(session)
    if turn is None:
        raise OutOfTurn("No path is being walked now.")
    position = _position(turn)
    problems = (*_remaining_path_problems(message, position, page), *_set_value_problems(message, position, page))
    if problems:
        raise Invalid(" ".join(problems))
    return c.EditPath(
        actions=tuple(as_action(tool, _node(tool, page).description) for tool in message.nodes),
        given=message.given,
        after=message.after,
    )


def path_check(path: m.EditPath, session: Session, page: FlowPage) -> PathCheck:
    """The problems of a path that a user is editing: one in review, or the rest of a running one."""
    turn = walking_turn(session)
    position = _position(turn) if turn else PathPosition()
    last_flow, last_node = split_tool_name(path.nodes[-1]) if path.nodes else (position.flow, position.node)
    last = page.flow(last_flow)
    first = page.flow(split_tool_name(path.nodes[0])[0]) if path.nodes else None
    return PathCheck(
        problems=(
            *_remaining_path_problems(path, position, page, titles=True),
            *_set_value_problems(path, position, page),
        ),
        lacking=missing_inputs(first, group_by_flow(path.nodes)[0][1], _available_values(first, position, page))
        if turn and first
        else (),
        rest=tuple(f"{last_flow}.{node}" for node in full_path(last, last_node)[1:]) if last and last_node else (),
    )


def walking_turn(session: Session) -> Turn | None:
    """The running turn, if it follows a path."""
    turn = session.turn
    return turn if path_of(turn) and session.phase in PATH_PHASES else None


def _position(turn: Turn) -> PathPosition:
    walked = [split_tool_name(action.spec.tool) for action in started(turn) if action.status in ("finished", "started")]
    nodes = [(flow, node) for flow, node in walked if node != PERSON_NODE]
    flow, node = nodes[-1] if nodes else ("", "")
    return PathPosition(flow, node, frozenset(outputs(turn).get(flow, {})))


def _remaining_path_problems(
    path: m.EditPath, position: PathPosition, page: FlowPage, *, titles: bool = False
) -> tuple[str, ...]:
    """Why these nodes cannot follow the ones that have started."""
    if not path.nodes:
        return ("A path has to lead to an end: name the nodes that are to come, or stop the session.",)
    chain = group_by_flow(path.nodes)
    if len({position.flow or chain[0][0], *(flow for flow, _ in chain)}) > MAX_FLOWS:
        return (f"A path leads through {MAX_FLOWS} flows at most.",)
    first, nodes = chain[0]
    flow = page.flow(first)
    if flow is None:
        return chain_problems(page, chain, titles=titles)
    have = {*_available_values(flow, position, page), *path.given}
    if first == position.flow:
        # set values restart the flow: any node whose inputs are there may follow
        problems = path_problems(flow, nodes, have, "" if path.given else position.node, titles=titles)
    else:
        problems = (*_unfinished_flow_problems(position, page), *path_problems(flow, nodes, have, titles=titles))
    return (*problems, *(chain_problems(_with_findings(page), chain[1:], titles=titles) if chain[1:] else ()))


def _available_values(flow: FlowSpec, position: PathPosition, page: FlowPage) -> set[str]:
    """The state values that the next node of this flow can use."""
    initial = {*flow.starts, *page.states.get(flow.name, {})}
    if flow.name != position.flow:
        return initial | ({"findings"} if position.flow else set())
    last = flow.node(position.node)
    return {*initial, *position.state, *(last.outputs if last else ())}  # the running node will have produced them


def _with_findings(page: FlowPage) -> FlowPage:
    """The flows' initial states when they follow another flow."""
    states = {flow.name: {**page.states.get(flow.name, {}), "findings": ""} for flow in page.flows}
    return page.model_copy(update={"states": states})


def _unfinished_flow_problems(position: PathPosition, page: FlowPage) -> tuple[str, ...]:
    """A flow must reach an end before the next one starts."""
    flow = page.flow(position.flow)
    node = flow.node(position.node) if flow else None
    if node is None or not node.possible_next_nodes:
        return ()
    return (f"{position.flow} is not at its end: after {node.name} comes {' or '.join(node.possible_next_nodes)}.",)


def _set_value_problems(path: m.EditPath, position: PathPosition, page: FlowPage) -> tuple[str, ...]:
    """Set values must be names that the next flow knows."""
    flow = page.flow(split_tool_name(path.nodes[0])[0]) if path.nodes else None
    if flow is None:
        return ()
    names = {*position.state, *flow.starts, *flow.may_start, *page.states.get(flow.name, {})}
    names |= {name for node in flow.nodes for name in (*node.inputs, *node.optional, *node.outputs)}
    return tuple(
        f"{flow.name} has no value “{name[:80]}”.{_suggestion(name, names)}" for name in path.given if name not in names
    )


def _suggestion(name: str, names: Collection[str]) -> str:
    similar = difflib.get_close_matches(name, names, n=2)
    return f" Do you mean {' or '.join(similar)}?" if similar else ""


def _node(tool: str, page: FlowPage) -> NodeSpec:
    """The node of a tool in a checked path."""
    name, node = split_tool_name(tool)
    spec = known_flow(name, page).node(node)
    if spec is None:
        raise Invalid(f"{name} has no node “{node[:80]}”.")
    return spec


# --- a path in review


def edited_plan(edit: c.EditPlan, plan: Plan, page: FlowPage) -> c.EditPlan:
    """The user's version of a path, with each node's description. Raises Invalid with every problem.

    A step without a tool may name its node: `generate_sql`, or `text_to_sql.generate_sql`.
    """
    names = _node_names(plan, page)
    tools = [step.tool or _node_named_in(step.text, names) for step in edit.steps]
    unknown = [
        f"Step {n} names no node: “{edit.steps[n - 1].text[:80]}”." for n, tool in enumerate(tools, 1) if not tool
    ]
    if unknown:
        raise Invalid(f"{' '.join(unknown)} Nodes are {', '.join(names)}.")
    chain = group_by_flow([tool for tool in tools if tool])
    problems = chain_problems(page, chain)
    if len(chain) > MAX_FLOWS:
        problems = (*problems, f"A path leads through {MAX_FLOWS} flows at most.")
    if problems:
        raise Invalid(" ".join(problems))
    steps = tuple(Step(text=_node(tool, page).description[:2_000] or tool, tool=tool) for tool in tools if tool)
    return edit.model_copy(update={"steps": steps})


def _node_names(plan: Plan, page: FlowPage) -> Mapping[str, str]:
    """Names by which a step may refer to a node: its full name, or its short name if its flow is in the path."""
    own_flows = [flow for flow, _ in group_by_flow([step.tool for step in plan.steps if step.tool])]
    short_names = {
        node.name: f"{flow.name}.{node.name}" for flow in page.flows if flow.name in own_flows for node in flow.nodes
    }
    return short_names | {
        f"{flow.name}.{node.name}": f"{flow.name}.{node.name}" for flow in page.flows for node in flow.nodes
    }


def _node_named_in(text: str, names: Mapping[str, str]) -> str | None:
    words: Sequence[str] = text.replace("`", " ").split()
    return names.get(words[0].rstrip(":")) if words else None
