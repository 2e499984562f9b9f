"""The executor's flows, asked over the bus; and a person's own path through them, held against the graph."""

import difflib
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from parley.events.values import Step
from parley.protocol import client as m
from parley.protocol.flows import FLOWS_LIST, FlowPage, FlowSpec, ListFlows, NodeSpec, PathCheck
from services.gateway.ports import Bus
from services.gateway.tools import ask
from services.gateway.trouble import Trouble
from shared.domain import commands as c
from shared.domain.errors import Invalid, OutOfTurn
from shared.domain.paths import begun, made, named
from shared.domain.people import ON_THE_WAY
from shared.domain.session import Session
from shared.domain.state import Plan, Turn
from shared.domain.workflows.flow import path_of
from shared.flows import PERSON, chain_problems, chains, full_path, lacking, path_problems, split

NO_FLOWS = FlowPage(flows=())
MOST_FLOWS = 2  # that one path leads through


class Here(NamedTuple):
    """Where a walk has come to: its flow ("" before the first node), the last node, and the values there are."""

    flow: str = ""
    node: str = ""
    state: frozenset[str] = frozenset()


async def flow_page(bus: Bus, session_id: str = "") -> FlowPage:
    """All flows; with a session, what each would begin with. Raises Trouble(unavailable)."""
    return await ask(bus, FLOWS_LIST, ListFlows(session_id=session_id), FlowPage)


def known_flow(name: str, page: FlowPage) -> FlowSpec:
    """Raises Trouble(not_found), with the flows that there are."""
    if flow := page.flow(name):
        return flow
    hint = f"There are {', '.join(one.name for one in page.flows)}." if page.flows else "No flow is registered."
    more = " Some could not be loaded: /api/planning/flows says why." if page.troubles else ""
    raise Trouble("not_found", f"There is no flow “{name[:80]}”.", hint + more)


# --- the rest of a path that is being walked


def edited_path(message: m.EditPath, session: Session, page: FlowPage) -> c.EditPath:
    """The command, with every node as its flow describes it. Raises OutOfTurn, or Invalid with all that is wrong."""
    turn = walked_now(session)
    if turn is None:
        raise OutOfTurn("No path is being walked now.")
    here = _here(turn)
    problems = (*_rest_problems(message, here, page), *_given_problems(message, here, page))
    if problems:
        raise Invalid(" ".join(problems))
    return c.EditPath(
        actions=tuple(named(tool, _node(tool, page).description) for tool in message.nodes),
        given=message.given,
        after=message.after,
    )


def path_check(path: m.EditPath, session: Session, page: FlowPage) -> PathCheck:
    """What is wrong with a path while a person changes it: in review, or the rest of the one that is being walked."""
    turn = walked_now(session)
    here = _here(turn) if turn else Here()
    last_flow, last_node = split(path.nodes[-1]) if path.nodes else (here.flow, here.node)
    last = page.flow(last_flow)
    first = page.flow(split(path.nodes[0])[0]) if path.nodes else None
    return PathCheck(
        problems=(*_rest_problems(path, here, page, titles=True), *_given_problems(path, here, page)),
        lacking=lacking(first, chains(path.nodes)[0][1], _have(first, here, page)) if turn and first else (),
        rest=tuple(f"{last_flow}.{node}" for node in full_path(last, last_node)[1:]) if last and last_node else (),
    )


def walked_now(session: Session) -> Turn | None:
    """The turn whose path is on its way."""
    turn = session.turn
    return turn if path_of(turn) and session.phase in ON_THE_WAY else None


def _here(turn: Turn) -> Here:
    walked = [split(action.spec.tool) for action in begun(turn) if action.status in ("finished", "started")]
    nodes = [(flow, node) for flow, node in walked if node != PERSON]
    flow, node = nodes[-1] if nodes else ("", "")
    return Here(flow, node, frozenset(made(turn).get(flow, {})))


def _rest_problems(path: m.EditPath, here: Here, page: FlowPage, *, titles: bool = False) -> tuple[str, ...]:
    """What keeps these nodes from being walked after the ones that have begun."""
    if not path.nodes:
        return ("A path has to lead to an end: name the nodes that are to come, or stop the session.",)
    chain = chains(path.nodes)
    if len({here.flow or chain[0][0], *(flow for flow, _ in chain)}) > MOST_FLOWS:
        return (f"A path leads through {MOST_FLOWS} flows at most.",)
    first, nodes = chain[0]
    flow = page.flow(first)
    if flow is None:
        return chain_problems(page, chain, titles=titles)
    have = {*_have(flow, here, page), *path.given}
    if first == here.flow:
        # who sets values begins anew with them: any node follows that has its inputs
        problems = path_problems(flow, nodes, have, "" if path.given else here.node, titles=titles)
    else:
        problems = (*_left_behind(here, page), *path_problems(flow, nodes, have, titles=titles))
    return (*problems, *(chain_problems(_after(page), chain[1:], titles=titles) if chain[1:] else ()))


def _have(flow: FlowSpec, here: Here, page: FlowPage) -> set[str]:
    """The values that a path through this flow goes on with."""
    begins = {*flow.starts, *page.states.get(flow.name, {})}
    if flow.name != here.flow:
        return begins | ({"findings"} if here.flow else set())
    last = flow.node(here.node)
    return {*begins, *here.state, *(last.outputs if last else ())}  # what runs now will have made them


def _after(page: FlowPage) -> FlowPage:
    """What the flows would begin with after another one."""
    states = {flow.name: {**page.states.get(flow.name, {}), "findings": ""} for flow in page.flows}
    return page.model_copy(update={"states": states})


def _left_behind(here: Here, page: FlowPage) -> tuple[str, ...]:
    """A flow that has begun is walked to an end before the next one."""
    flow = page.flow(here.flow)
    node = flow.node(here.node) if flow else None
    if node is None or not node.possible_next_nodes:
        return ()
    return (f"{here.flow} is not at its end: after {node.name} comes {' or '.join(node.possible_next_nodes)}.",)


def _given_problems(path: m.EditPath, here: Here, page: FlowPage) -> tuple[str, ...]:
    """Values are set in the flow that goes on: it must know their names."""
    flow = page.flow(split(path.nodes[0])[0]) if path.nodes else None
    if flow is None:
        return ()
    names = {*here.state, *flow.starts, *flow.may_start, *page.states.get(flow.name, {})}
    names |= {name for node in flow.nodes for name in (*node.inputs, *node.optional, *node.outputs)}
    return tuple(
        f"{flow.name} knows no value “{name[:80]}”.{_near(name, names)}" for name in path.given if name not in names
    )


def _near(name: str, names: Collection[str]) -> str:
    near = difflib.get_close_matches(name, names, n=2)
    return f" Do you mean {' or '.join(near)}?" if near else ""


def _node(tool: str, page: FlowPage) -> NodeSpec:
    """Of a tool whose path has been checked."""
    name, node = split(tool)
    found = known_flow(name, page).node(node)
    if found is None:
        raise Invalid(f"{name} has no node “{node[:80]}”.")
    return found


# --- a path that waits for a yes


def edited_plan(edit: c.EditPlan, plan: Plan, page: FlowPage) -> c.EditPlan:
    """The person's version of a path, with every step as its flow describes it. Raises Invalid with all that is wrong.

    A step without a tool may name its node: `generate_sql`, or `text_to_sql.generate_sql`.
    """
    names = _names(plan, page)
    tools = [step.tool or _named(step.text, names) for step in edit.steps]
    lost = [f"Step {n} names no node: “{edit.steps[n - 1].text[:80]}”." for n, tool in enumerate(tools, 1) if not tool]
    if lost:
        raise Invalid(f"{' '.join(lost)} Nodes are {', '.join(names)}.")
    chain = chains([tool for tool in tools if tool])
    problems = chain_problems(page, chain)
    if len(chain) > MOST_FLOWS:
        problems = (*problems, f"A path leads through {MOST_FLOWS} flows at most.")
    if problems:
        raise Invalid(" ".join(problems))
    steps = tuple(Step(text=_node(tool, page).description[:2_000] or tool, tool=tool) for tool in tools if tool)
    return edit.model_copy(update={"steps": steps})


def _names(plan: Plan, page: FlowPage) -> Mapping[str, str]:
    """What a step may call a node: its name in the path's flows, or its name with the flow."""
    mine = [flow for flow, _ in chains([step.tool for step in plan.steps if step.tool])]
    bare = {node.name: f"{flow.name}.{node.name}" for flow in page.flows if flow.name in mine for node in flow.nodes}
    return bare | {f"{flow.name}.{node.name}": f"{flow.name}.{node.name}" for flow in page.flows for node in flow.nodes}


def _named(text: str, names: Mapping[str, str]) -> str | None:
    words: Sequence[str] = text.replace("`", " ").split()
    return names.get(words[0].rstrip(":")) if words else None
