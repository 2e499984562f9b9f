"""Plan and act: a plan of tool calls is drafted, approved as it stands, and carried out step by step."""

from parley.events import facts
from parley.events.values import ActionSpec
from shared.domain.kernel.session import Session
from shared.domain.kernel.state import Plan, TurnRules
from shared.domain.kernel.workflow import PLAN_REVIEW, Edge, Workflow, unread_while_drafting
from shared.domain.steps.plan_steps import action_id, has_running_step, required_steps


def calls(plan: Plan, _: int) -> tuple[ActionSpec, ...]:
    """The steps as actions. References stay unresolved until the outputs that they name exist."""
    ids = {step.id: action_id(plan, step) for step in plan.steps}
    return tuple(
        ActionSpec(
            id=action_id(plan, step),
            tool=step.tool or "note",
            arguments=step.arguments or {},
            description=step.text,
            effect=step.effect or "read",
            policy=step.policy,
            waits_for=step.waits_for,
            depends_on=tuple(ids[need] for need in required_steps(step) if need in ids),
        )
        for step in plan.steps
    )


def approved_by_setting(session: Session, event: facts.PlanDrafted | facts.PlanEdited) -> bool:
    """The settings require no approval, and no step still runs: the planner starts the plan."""
    task = event.task if isinstance(event, facts.PlanDrafted) else session.plan.task if session.plan else None
    return not session.settings.require_plan_approval and not has_running_step(session, task or "")


def deferred(session: Session, event: facts.PlanApproved) -> bool:
    """The user starts it later."""
    return event.deferred


EXECUTION_PLAN = Workflow(
    "execution_plan",
    after={
        **PLAN_REVIEW,
        "plan.drafted": (
            Edge("planning", unread_while_drafting),
            Edge("planning", approved_by_setting),
            Edge("awaiting_approval"),
        ),
        "plan.edited": (Edge("planning", approved_by_setting), Edge("awaiting_approval")),
        "plan.approved": (Edge("resting", deferred, rests="approved"), Edge("first_batch")),
        "turn.planned": (Edge("first_batch"),),
        "turn.verified": (Edge("answering"),),
        "answer.given": (Edge("resting", rests="answered"),),
    },
    plans="execution",
    turn=TurnRules(by_step=True),
    asks_models=frozenset({"planning"}),
    actions=calls,
)
