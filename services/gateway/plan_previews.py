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


async def plan_previews(session: Session, bus: Bus) -> PlanPreviews:
    """Without an executor there are none: a preview that cannot be had keeps nobody from reading the plan."""
    status, plan = plan_status(session), session.plan
    shown = plan.steps if plan and plan.task == session.task else ()
    wanted = [
        StepCall(step=step.id, tool=step.tool, arguments=step.arguments or {})
        for step in shown
        if step.id and step.tool and step.effect not in (None, "read")
        if not refers(step) and status.steps.get(step.id) == "planned"
    ]
    version = plan.version if plan and shown else None
    found = Previews()
    if wanted:
        try:
            found = await ask(
                bus, TOOLS_PREVIEWS, PreviewCalls(session_id=session.id, calls=tuple(wanted[:MOST])), Previews
            )
        except Trouble:
            found = Previews()
    left_out = max(len(wanted) - MOST, 0)
    return PlanPreviews(version=version, at=datetime.now(UTC), steps=found.steps, left_out=left_out)
