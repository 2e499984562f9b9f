"""Walk a flow: a path through described nodes is planned, approved if the settings say so, and walked node by node."""

from parley.events import SessionEvent, facts
from parley.events.offers import OfferedDraft, OfferedPlan, OfferedTurn
from parley.events.values import ActionSpec, NodeProposal, PathPlan
from shared.domain.kernel.fast_replace import replace
from shared.domain.kernel.state import Plan, Turn, TurnRules
from shared.domain.kernel.workflow import PLAN_REVIEW, Edge, Workflow, unread_while_planning
from shared.domain.turn.action_ids import ActionId
from shared.domain.workflows.agentflow import AFTER_VERDICT, judged


def path_of(part: Plan | Turn | None) -> PathPlan | None:
    """The path of a plan or turn; None if it has none."""
    return part.path if part else None


def plans_path(draft: SessionEvent | OfferedDraft) -> bool:
    """Whether the steps or actions of the event or offer are nodes rather than tool calls."""
    drafts = facts.TurnPlanned | facts.PlanDrafted | OfferedTurn | OfferedPlan
    return isinstance(draft, drafts) and draft.path is not None


def proposal(event: SessionEvent) -> NodeProposal | None:
    """The node that the planner of this path proposes to add."""
    planned = event if isinstance(event, facts.TurnPlanned | facts.PlanDrafted) else None
    return planned.path.proposal if planned and planned.path else None


def nodes(plan: Plan, turn: int) -> tuple[ActionSpec, ...]:
    """The nodes of the path as actions of the turn, one after the other and without rulings.

    The executor reports an unknown effect right before the node starts; until then no approval is asked for.
    """
    return tuple(
        ActionSpec(
            id=ActionId.of_turn(turn, number),
            tool=step.tool or "note",
            arguments=step.arguments or {},
            description=step.text,
            effect=step.effect or "read",
            policy=step.policy if step.effect else "never",
            depends_on=(ActionId.of_turn(turn, number - 1),) if number > 1 else (),
        )
        for number, step in enumerate(plan.steps, 1)
    )


def _edited(plan: Plan) -> Plan:
    """The plan with the user's nodes as its path, no longer a fallback."""
    walked = tuple(step.tool for step in plan.steps if step.tool)
    if plan.path is None or not walked:
        return plan
    own = plan.path.model_copy(update={"nodes": walked, "fallback": False, "fallback_reason": ""})
    return replace(plan, path=own)


FLOW = Workflow(
    "flow",
    after={
        **PLAN_REVIEW,
        "plan.approved": (Edge("first_batch"),),
        "turn.planned": (Edge("planning", unread_while_planning), Edge("first_batch")),
        "turn.verified": AFTER_VERDICT,
        "answer.given": (Edge("resting", rests="answered"),),
    },
    plans="path",
    noun="path",
    claims=lambda event: event.path is not None,
    turn=TurnRules(one_by_one=True, answers_are_input=True, reruns_cut_off=True, changeable=True, keeps_results=True),
    asks_models=frozenset({"planning", "coding", "executing"}),
    actions=nodes,
    edited=_edited,
    approves_itself=lambda settings: settings.confirm != "path",
    judged=judged,
)
