"""The planner of the workflow `flow`: a path through described nodes, planned by the model or the full graph.

What the model proposes is held against the graph and its data; what cannot be walked goes back with the reasons, a
bounded number of times. After that, or without planning, the full graph is walked by its conditions.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import structlog

from parley.events.values import ActionSpec, NodeProposal, PathPlan, Step
from parley.protocol.flows import FlowPage, FlowSpec, tool_of
from services.planner.examples import Examples
from services.planner.flow_prompt import NewNode, PathDraft, PathReply, brief, shown
from services.planner.path_cache import Chain, Paths
from shared.domain import commands as c
from shared.domain.paths import named
from shared.domain.said import drafting
from shared.domain.session import Session
from shared.domain.workers import WorkerCommand
from shared.flows import chain_problems, chains, full_path, split
from shared.llm import Message
from shared.llm.dialogue import QUESTIONS, refuse_repeated, reply_for, to_command
from shared.llm.errors import ModelFailed
from shared.worker import WorkContext

log = structlog.get_logger("planner")
WHICH = "Which flow should this go through?"


class Flows(Protocol):
    async def page(self, session_id: str) -> FlowPage: ...


class Planned(NamedTuple):
    """A way to go."""

    chain: Chain
    path: PathPlan
    reasoning: str


class NoPath(Exception):
    """The model's proposals cannot be walked; `problems` of the last one, and the flow that it meant."""

    def __init__(self, attempts: int, problems: Sequence[str], flow: FlowSpec | None = None) -> None:
        super().__init__(" ".join(problems))
        self.attempts = attempts
        self.problems = tuple(problems)
        self.flow = flow


class PathPlanner:
    """What a path is planned with: the flows there are, accepted examples, and paths that were planned before."""

    def __init__(self, flows: Flows, examples: Examples, known: Paths) -> None:
        self._flows = flows
        self._examples = examples
        self._known = known

    async def plan(self, context: WorkContext) -> WorkerCommand:
        session = drafting(context.session)
        page = await self._flows.page(session.id)
        if only := session.settings.planning.flow:
            page = page.model_copy(update={"flows": tuple(flow for flow in page.flows if flow.name == only)})
        if not page.flows:
            why = f"There is no flow “{only}”." if only else "No flow is registered."
            return c.Fail(reason=" ".join((why, *page.troubles)), retryable=False)
        try:
            planned = await self._way(context, page)
        except NoPath as error:
            why = f"No path could be planned ({error.attempts} tries), and the full graph is not to be walked: {error}"
            return c.Fail(reason=why)
        if isinstance(planned, c.Ask):
            names = tuple(flow.name for flow in page.flows)
            return planned.model_copy(update={"options": planned.options or names})
        if isinstance(planned, c.AnswerRemark):
            return planned
        log.debug("path_planned", session_id=session.id, reasoning=planned.reasoning, **planned.path.model_dump())
        return _command(session, page, planned)

    async def _way(self, context: WorkContext, page: FlowPage) -> Planned | c.Ask | c.AnswerRemark:
        session = drafting(context.session)
        planning = session.settings.planning
        if not planning.use_planning:
            return _full(page.flows[0], "The full graph was asked for.")
        key = self._known.key(session, page) if planning.cache else ""
        if not session.next_draft.another and (found := self._known.find(key)):
            log.debug("path_from_cache", session_id=session.id, chain=found.chain)
            path = PathPlan(nodes=_tools(found.chain), cached=True)
            return Planned(found.chain, path, found.reasoning)
        try:
            planned = await self._proposed(context, page)
        except NoPath as error:
            if not planning.fallback_enabled:
                raise
            log.debug("path_fallback", session_id=session.id, problems=error.problems)
            return _fallback(session, page, error)
        if isinstance(planned, Planned):
            self._known.keep(key, planned.chain, planned.reasoning)
        return planned

    async def _proposed(self, context: WorkContext, page: FlowPage) -> Planned | c.Ask | c.AnswerRemark:
        """Raises NoPath after as many proposals as the session allows."""
        session = drafting(context.session)
        examples = await self._examples(session)
        problems = _unwanted(session)
        meant: FlowSpec | None = None
        most = session.settings.planning.max_retries
        for attempt in range(1, most + 1):
            messages = brief(context.session, page, examples, problems)
            try:
                reply = await self._ask(context, messages)
            except ModelFailed as error:
                raise NoPath(attempt, (f"The model did not give a path: {error.reason}",), meant) from error
            found = reply.reply
            if not isinstance(found, PathDraft):
                return to_command(found, context.session)
            chain: Chain = tuple((path.flow, tuple(path.nodes)) for path in found.paths)
            problems = chain_problems(page, chain)
            meant = page.flow(chain[0][0]) or meant
            log.debug("path_proposed", session_id=session.id, attempt=attempt, chain=chain, problems=problems)
            if not problems:
                told = {"attempts": attempt, "examples": len(examples), "proposal": _proposal(found.new_node)}
                return Planned(chain, PathPlan(nodes=_tools(chain), **told), found.reasoning[:10_000])
        raise NoPath(most, problems, meant)

    async def _ask(self, context: WorkContext, messages: list[Message]) -> PathReply:
        temperature = context.session.settings.planning.temperature
        session = context.session
        return await context.ask(
            messages,
            reply_for(PathReply, session),
            kind="plan",
            render=shown,
            temperature=temperature,
            refuse=refuse_repeated(session),
        )


def _fallback(session: Session, page: FlowPage, error: NoPath) -> Planned | c.Ask:
    """The full graph of the flow that is meant; where nothing tells which one it is, the person does.

    Raises NoPath where the person was asked already.
    """
    flow = page.flows[0] if len(page.flows) == 1 else _said(session, page) or error.flow
    asked = [said.question for said in session.words.dialogue]
    if flow is None and (len(asked) >= QUESTIONS or any(one.endswith(WHICH) for one in asked)):
        names = ", ".join(flow.name for flow in page.flows)
        raise NoPath(error.attempts, (f"Nothing says which flow is meant: name one of {names}.",))
    if flow is None:
        return c.Ask(text=f"{error} {WHICH}".strip()[:50_000])
    return _full(flow, str(error), error.attempts)


def _full(flow: FlowSpec, why: str, attempts: int = 0) -> Planned:
    chain: Chain = ((flow.name, full_path(flow)),)
    path = PathPlan(nodes=_tools(chain), fallback=True, fallback_reason=why[:5_000], attempts=attempts)
    return Planned(chain, path, f"The full graph of {flow.name}, by its conditions.")


def _unwanted(session: Session) -> tuple[str, ...]:
    """The path that the person wants another one for."""
    path = session.plan.path if session.next_draft.another and session.plan else None
    return (f"The person wants another path than {', '.join(path.nodes)}.",) if path else ()


def _said(session: Session, page: FlowPage) -> FlowSpec | None:
    """The flow that the person named when they were asked which, whoever asked."""
    named = (page.flow(said.answer.strip()) for said in reversed(session.words.dialogue))
    return next((flow for flow in named if flow), None)


def _tools(chain: Chain) -> tuple[str, ...]:
    return tuple(tool_of(flow, node) for flow, nodes in chain for node in nodes)


def _proposal(node: NewNode | None) -> NodeProposal | None:
    return NodeProposal(flow=node.flow, name=node.name, description=node.description, reason=node.why) if node else None


def _command(session: Session, page: FlowPage, planned: Planned) -> c.DraftPlan | c.PlanTurn:
    """The path as a plan to approve, where the person wants to see it first; else as the turn that walks it."""
    names = " and ".join(flow for flow, _ in chains(planned.path.nodes))
    steps = [_step(page, tool) for tool in planned.path.nodes]
    if session.settings.confirm == "path":
        made = tuple(Step(text=step.description, tool=step.tool) for step in steps)
        goal = f"{session.words.request[:400]} ({names})"
        return c.DraftPlan(goal=goal, steps=made, notes=planned.reasoning, kind="path", path=planned.path)
    turn = session.counts.turns + 1
    actions = tuple(
        step.model_copy(
            update={"id": f"{turn}.{number}", "depends_on": (f"{turn}.{number - 1}",) if number > 1 else ()}
        )
        for number, step in enumerate(steps, 1)
    )
    return c.PlanTurn(
        sub_goal=f"Walk {names}"[:500],
        actions=actions,
        selected_tool=actions[0].tool,
        reasoning=planned.reasoning,
        final=True,
        path=planned.path,
    )


def _step(page: FlowPage, tool: str) -> ActionSpec:
    """A node as an action; whether it changes something is said right before it begins, with what it will get."""
    flow_name, node_name = split(tool)
    flow = page.flow(flow_name)
    node = flow.node(node_name) if flow else None
    return named(tool, (node.description if node else "") or node_name)
