"""Walk a flow: a path through described nodes is planned, confirmed if so set, and walked node by node."""

from parley.events import SessionEvent, facts
from parley.events.values import ActionSpec, NodeProposal, PathPlan
from shared.domain.changing import replace
from shared.domain.session import Session
from shared.domain.state import Plan, Turn, TurnRules
from shared.domain.workflow import PLAN_REVIEW, Edge, Workflow, unread_while_planning
from shared.domain.workflows.agentflow import AFTER_TURNS, judged


def path_of(part: Plan | Turn | None) -> PathPlan | None:
    """The path that a plan is, or that a turn walks."""
    return part.path if part else None


def plans_path(event: SessionEvent) -> bool:
    """Whether its steps or actions are nodes, and no calls of tools."""
    return isinstance(event, facts.TurnPlanned | facts.PlanDrafted) and event.path is not None


def proposal(event: SessionEvent) -> NodeProposal | None:
    """The node that the planner of this path missed."""
    planned = event if isinstance(event, facts.TurnPlanned | facts.PlanDrafted) else None
    return planned.path.proposal if planned and planned.path else None


def nodes(plan: Plan, turn: int) -> tuple[ActionSpec, ...]:
    """The nodes of the path as actions of that turn, one after the other and not ruled yet.

    What a node does is said right before it begins where it is not known now: until then nobody is asked about it.
    """
    return tuple(
        ActionSpec(
            id=f"{turn}.{number}",
            tool=step.tool or "note",
            arguments=step.arguments or {},
            description=step.text,
            effect=step.effect or "read",
            policy=step.policy if step.effect else "never",
            depends_on=(f"{turn}.{number - 1}",) if number > 1 else (),
        )
        for number, step in enumerate(plan.steps, 1)
    )


def _takes_in(session: Session) -> Session:
    """The nodes have yet to take in what was said; for the next request it has been heard."""
    return replace(session, memory=replace(session.memory, heard=session.words.feedback))


def _edited(plan: Plan) -> Plan:
    """A path that a person edited is theirs, whatever it was planned as."""
    walked = tuple(step.tool for step in plan.steps if step.tool)
    if plan.path is None or not walked:
        return plan
    own = plan.path.model_copy(update={"nodes": walked, "fallback": False, "fallback_reason": ""})
    return replace(plan, path=own)


FLOW = Workflow(
    "flow",
    after={
        **PLAN_REVIEW,
        "plan.approved": (Edge("wave"),),
        "turn.planned": (Edge("planning", unread_while_planning), Edge("wave")),
        **AFTER_TURNS,
    },
    plans="path",
    noun="path",
    claims=lambda event: event.path is not None,
    turn=TurnRules(one_by_one=True, answers_are_input=True, reruns_cut_off=True, changeable=True, keeps_results=True),
    asks_models=frozenset({"planning", "coding", "executing"}),
    actions=nodes,
    takes_in=_takes_in,
    edited=_edited,
    approves_itself=lambda settings: settings.confirm != "path",
    judged=judged,
)
