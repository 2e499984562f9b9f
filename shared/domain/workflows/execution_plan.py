"""Plan and act: a plan of tool calls is drafted, approved as it stands, and carried out step by step."""

from parley.events.values import ActionSpec
from shared.domain.plan_steps import action_id, needs
from shared.domain.state import Plan, TurnRules
from shared.domain.workflow import PLAN_REVIEW, Edge, Workflow, unread


def calls(plan: Plan, _: int) -> tuple[ActionSpec, ...]:
    """The steps as actions. References stay as they are written until the actions before have given what they name."""
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
            depends_on=tuple(ids[need] for need in needs(step) if need in ids),
        )
        for step in plan.steps
    )


EXECUTION_PLAN = Workflow(
    "execution_plan",
    after={
        **PLAN_REVIEW,
        "plan.approved": (Edge("wave"),),
        "turn.verified": (Edge("answering"),),
        "answer.given": (Edge("planning", unread), Edge("resting", rests="answered")),
    },
    plans="execution",
    turn=TurnRules(by_step=True),
    asks_models=frozenset({"planning"}),
    actions=calls,
)
