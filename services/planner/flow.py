"""The workflow `flow`: plan a path through the described nodes of a flow.

The planner checks the model's proposal against the graph and the data that each node needs. It returns an invalid
proposal to the model with the reasons, a bounded number of times. After that, or without planning, the full graph is
walked by its conditions.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import structlog
from cachetools import LRUCache

from parley.events.values import ActionSpec, NodeProposal, PathPlan, Step
from parley.protocol.flows import FlowPage, FlowSpec, tool_of
from services.planner.flow_prompt import NewNode, PathDraft, PathReply, build_prompt, render_partial
from services.planner.recall import Examples
from shared.domain.kernel import commands as c
from shared.domain.kernel.session import Session
from shared.domain.kernel.subjects import memory_subject, recall_subject
from shared.domain.rules.worker_commands import WorkerCommand
from shared.domain.transcript.messages import drafting_session, drafts_at_once
from shared.domain.transcript.queries import questions, said_since_request
from shared.domain.turn.action_ids import ActionId
from shared.domain.turn.flow_paths import as_action
from shared.flows import chain_problems, full_path, group_by_flow, split_tool_name
from shared.llm import Message
from shared.llm.dialogue import MAX_QUESTIONS, refuse_repeated, reply_for, to_command
from shared.llm.errors import ModelFailed
from shared.worker import WorkContext

type Chain = tuple[tuple[str, tuple[str, ...]], ...]
log = structlog.get_logger("planner")
WHICH_FLOW = "Which flow should this go through?"


class CachedPath(NamedTuple):
    chain: Chain
    reasoning: str


class PathCache:
    """Holds at most `size` paths and evicts the least recently used."""

    def __init__(self, size: int) -> None:
        self._paths: LRUCache[str, CachedPath] = LRUCache(maxsize=size)

    def key(self, session: Session, page: FlowPage) -> str:
        """A hash of what a path depends on: the user, their words, the flows, and the flows' states.

        It is the same only for sessions about the same subject. One that may be about somebody unknown shares no path.
        """
        words = [session.words.request, said_since_request(session)]
        knowledge = [(known.name, known.text) for known in session.words.knowledge]
        may_share = session.subjects == "unstated" or memory_subject(session) is not None
        subject = recall_subject(session) if may_share else f"session {session.id}"
        parts = [session.owner, subject, words, knowledge, page.model_dump(mode="json", exclude={"troubles"})]
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()

    def get(self, key: str) -> CachedPath | None:
        return self._paths.get(key)

    def put(self, key: str, chain: Chain, reasoning: str) -> None:
        if key and self._paths.maxsize:
            self._paths[key] = CachedPath(chain, reasoning)

    def __len__(self) -> int:
        return len(self._paths)


class FlowLookup(Protocol):
    async def page(self, session_id: str) -> FlowPage: ...


class PlannedPath(NamedTuple):
    """A path to walk, why, and words to the person."""

    chain: Chain
    path: PathPlan
    reasoning: str
    say: str = ""


class NoPath(Exception):
    """No proposal of the model can be walked. `problems` are those of the last one, `flow` the flow it was about."""

    def __init__(self, attempts: int, problems: Sequence[str], flow: FlowSpec | None = None) -> None:
        super().__init__(" ".join(problems))
        self.attempts = attempts
        self.problems = tuple(problems)
        self.flow = flow


class PathPlanner:
    """Plans paths from the available flows, accepted examples, and cached paths."""

    def __init__(self, flows: FlowLookup, examples: Examples, cache: PathCache) -> None:
        self._flows = flows
        self._examples = examples
        self._cache = cache

    async def plan(self, context: WorkContext) -> WorkerCommand:
        session = drafting_session(context.session)
        page = await self._flows.page(session.id)
        if only := session.settings.planning.flow:
            page = page.model_copy(update={"flows": tuple(flow for flow in page.flows if flow.name == only)})
        if not page.flows:
            why = f"There is no flow “{only}”." if only else "No flow is registered."
            return c.Fail(reason=" ".join((why, *page.troubles)), retryable=False)
        try:
            planned = await self._choose_path(context, page)
        except NoPath as error:
            why = f"No path could be planned ({error.attempts} tries), and the full graph is not to be walked: {error}"
            return c.Fail(reason=why)
        if isinstance(planned, c.Ask):
            return planned if planned.options else planned.model_copy(update={"options": _named_choices(planned, page)})
        if isinstance(planned, c.AnswerRemark | c.AcceptOffer):
            return planned
        log.debug("path_planned", session_id=session.id, reasoning=planned.reasoning, **planned.path.model_dump())
        return _to_command(session, page, planned)

    async def _choose_path(self, context: WorkContext, page: FlowPage) -> PlannedPath | c.NoDraft:
        session = drafting_session(context.session)
        planning = session.settings.planning
        waits = context.answers_message and not drafts_at_once(context.session)  # the message may only ask about it
        if not planning.use_planning and not waits:
            return _full_graph(page.flows[0], "The full graph was asked for.")
        key = self._cache.key(session, page) if planning.cache else ""
        if not session.next_draft.another and (cached := self._cache.get(key)):
            log.debug("path_from_cache", session_id=session.id, chain=cached.chain)
            path = PathPlan(nodes=_node_tools(cached.chain), cached=True)
            return PlannedPath(cached.chain, path, cached.reasoning)
        try:
            planned = await self._propose(context, page)
        except NoPath as error:
            if not planning.fallback_enabled:
                raise
            log.debug("path_fallback", session_id=session.id, problems=error.problems)
            return _fall_back(session, page, error)
        if isinstance(planned, PlannedPath):
            self._cache.put(key, planned.chain, planned.reasoning)
        return planned

    async def _propose(self, context: WorkContext, page: FlowPage) -> PlannedPath | c.NoDraft:
        """The first valid proposal. Raises NoPath after as many proposals as the session allows."""
        session = drafting_session(context.session)
        examples = await self._examples(session)
        problems = _rejected_path(session)
        intended: FlowSpec | None = None
        max_attempts = session.settings.planning.max_retries
        for attempt in range(1, max_attempts + 1):
            messages = build_prompt(context.prompt_session, context.deps.settings, page, examples, problems)
            try:
                reply = await self._ask(context, messages)
            except ModelFailed as error:
                raise NoPath(attempt, (f"The model did not give a path: {error.reason}",), intended) from error
            draft = reply.reply
            if not isinstance(draft, PathDraft):
                return to_command(draft)
            chain: Chain = tuple((path.flow, tuple(path.nodes)) for path in draft.paths)
            problems = chain_problems(page, chain)
            intended = page.flow(chain[0][0]) or intended
            log.debug("path_proposed", session_id=session.id, attempt=attempt, chain=chain, problems=problems)
            if not problems:
                fields = {"attempts": attempt, "examples": len(examples), "proposal": _node_proposal(draft.new_node)}
                path = PathPlan(nodes=_node_tools(chain), **fields)
                return PlannedPath(chain, path, draft.reasoning[:10_000], draft.say.strip())
        raise NoPath(max_attempts, problems, intended)

    async def _ask(self, context: WorkContext, messages: list[Message]) -> PathReply:
        temperature = context.session.settings.planning.temperature
        session = context.session
        return await context.ask(
            messages,
            reply_for(PathReply, session),
            kind="plan",
            render=render_partial,
            temperature=temperature,
            refuse=refuse_repeated(session),
        )


def _fall_back(session: Session, page: FlowPage, error: NoPath) -> PlannedPath | c.Ask:
    """The full graph of the intended flow, or a question to the user where it is unknown.

    Raises NoPath if the user was asked already.
    """
    flow = page.flows[0] if len(page.flows) == 1 else _named_flow(session, page) or error.flow
    asked = [question for together in questions(session) for question in together]
    asked_enough = len(questions(session)) >= MAX_QUESTIONS
    if flow is None and (asked_enough or any(question.endswith(WHICH_FLOW) for question in asked)):
        names = ", ".join(flow.name for flow in page.flows)
        raise NoPath(error.attempts, (f"Nothing says which flow is meant: name one of {names}.",))
    if flow is None:
        options = tuple(flow.name for flow in page.flows)
        return c.Ask(text=f"{error} {WHICH_FLOW}".strip()[:50_000], options=options)
    return _full_graph(flow, str(error), error.attempts)


def _named_choices(question: c.Ask, page: FlowPage) -> tuple[str, ...]:
    """The flows to choose from, if the question names one of them: it may ask for something else."""
    names = tuple(flow.name for flow in page.flows)
    text = question.text.lower().replace("_", " ")
    return names if any(name.lower().replace("_", " ") in text for name in names) else ()


def _full_graph(flow: FlowSpec, why: str, attempts: int = 0) -> PlannedPath:
    chain: Chain = ((flow.name, full_path(flow)),)
    path = PathPlan(nodes=_node_tools(chain), fallback=True, fallback_reason=why[:5_000], attempts=attempts)
    return PlannedPath(chain, path, f"The full graph of {flow.name}, by its conditions.")


def _rejected_path(session: Session) -> tuple[str, ...]:
    """The path that the user rejected, as a problem for the prompt."""
    path = session.plan.path if session.next_draft.another and session.plan else None
    return (f"The person wants another path than {', '.join(path.nodes)}.",) if path else ()


def _named_flow(session: Session, page: FlowPage) -> FlowSpec | None:
    """The flow that is the user's latest message or answer that is the name of one."""
    flows = (page.flow(said.strip()) for said in reversed(said_since_request(session)))
    return next((flow for flow in flows if flow), None)


def _node_tools(chain: Chain) -> tuple[str, ...]:
    return tuple(tool_of(flow, node) for flow, nodes in chain for node in nodes)


def _node_proposal(node: NewNode | None) -> NodeProposal | None:
    return NodeProposal(flow=node.flow, name=node.name, description=node.description, reason=node.why) if node else None


def _to_command(session: Session, page: FlowPage, planned: PlannedPath) -> c.DraftPlan | c.PlanTurn:
    """The path as a plan to approve if the user wants to see it first; otherwise as the turn that walks it."""
    flows = [name for name, _ in group_by_flow(planned.path.nodes)]
    names, tells = " and ".join(flows), any(flow.tells_subjects for flow in page.flows if flow.name in flows)
    steps = [_as_action(page, tool) for tool in planned.path.nodes]
    if session.settings.confirm == "path":
        plan_steps = tuple(Step(text=step.description, tool=step.tool) for step in steps)
        goal = f"{session.words.request[:400]} ({names})"
        fields = {"notes": planned.reasoning, "say": planned.say, "path": planned.path, "tells_subjects": tells}
        return c.DraftPlan(goal=goal, steps=plan_steps, kind="path", **fields)
    turn = session.counts.turns + 1
    actions = tuple(
        step.model_copy(
            update={
                "id": ActionId.of_turn(turn, number),
                "depends_on": (ActionId.of_turn(turn, number - 1),) if number > 1 else (),
            }
        )
        for number, step in enumerate(steps, 1)
    )
    return c.PlanTurn(
        sub_goal=f"Walk {names}"[:500],
        actions=actions,
        selected_tool=actions[0].tool,
        reasoning=planned.reasoning,
        say=planned.say,
        final=True,
        path=planned.path,
        tells_subjects=tells,
    )


def _as_action(page: FlowPage, tool: str) -> ActionSpec:
    """A node as an action. The executor sets its effect and arguments right before it starts."""
    flow_name, node_name = split_tool_name(tool)
    flow = page.flow(flow_name)
    node = flow.node(node_name) if flow else None
    return as_action(tool, (node.description if node else "") or node_name)
