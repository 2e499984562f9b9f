"""What the changes of a plan would make of what is there now: looked up when the plan is shown, kept nowhere."""

from datetime import UTC, datetime

from parley.protocol.execution_plans import PlanPreviews
from parley.protocol.tools import TOOLS_PREVIEWS, PreviewCalls, Previews, StepCall
from services.gateway.ports import Bus
from services.gateway.tools import ask
from services.gateway.trouble import Trouble
from services.gateway.views.execution_plan import plan_status
from shared.domain.plan_steps import refers
from shared.domain.session import Session

MOST = 20  # previews of a plan
SECONDS = 5.0  # that a reader waits for them: more than the executor takes for one
OVER = ("completed", "cancelled")  # nothing of such a plan is to come


async def plan_previews(session: Session, bus: Bus, *, current: bool = True) -> PlanPreviews:
    """The previews of the changes to come; of a plan that is not `current` nothing is to come.

    Without an executor there are none: that a preview cannot be had keeps nobody from reading the plan.
    """
    wanted = _to_come(session) if current else ()
    found = Previews()
    if wanted:
        calls = PreviewCalls(session_id=session.id, calls=wanted[:MOST])
        try:
            found = await ask(bus, TOOLS_PREVIEWS, calls, Previews, patience=SECONDS)
        except Trouble:
            found = Previews()
    plan = session.plan
    version = plan.version if plan and plan.task == session.task else None
    left_out = max(len(wanted) - MOST, 0)
    return PlanPreviews(version=version, at=datetime.now(UTC), steps=found.steps, left_out=left_out)


def _to_come(session: Session) -> tuple[StepCall, ...]:
    """The changes that have not begun, and whose every argument the plan shows."""
    standing, plan = plan_status(session), session.plan
    if plan is None or plan.task != session.task or standing.status in OVER:
        return ()
    return tuple(
        StepCall(step=step.id, tool=step.tool, arguments=step.arguments or {})
        for step in plan.steps
        if step.id and step.tool and step.effect in ("write", "irreversible")
        if not refers(step) and standing.steps[step.id] == "planned"
    )
