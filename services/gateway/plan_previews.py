"""Previews of a plan's changes to the current data: computed when the plan is shown, never stored."""

from datetime import UTC, datetime

from parley.protocol.execution_plans import PlanPreviews
from parley.protocol.tools import TOOLS_PREVIEWS, PreviewCalls, Previews, StepCall
from services.gateway.api_errors import ApiError
from services.gateway.ports import GatewayBus
from services.gateway.tools import ask_executor
from services.gateway.views.execution_plan import plan_status
from shared.domain.plan_steps import has_references
from shared.domain.session import Session

MAX_PREVIEWS = 20  # previews of a plan
PREVIEWS_TIMEOUT = 5.0  # more than the executor allows for one preview
ENDED_STATUSES = ("completed", "cancelled")  # such a plan has no pending changes


async def plan_previews(session: Session, bus: GatewayBus, *, current: bool = True) -> PlanPreviews:
    """Previews of the pending changes; a plan that is not `current` has none.

    Returns no previews while no executor answers: the plan can be read all the same.
    """
    changes = _pending_changes(session) if current else ()
    previews = Previews()
    if changes:
        calls = PreviewCalls(session_id=session.id, calls=changes[:MAX_PREVIEWS])
        try:
            previews = await ask_executor(bus, TOOLS_PREVIEWS, calls, Previews, timeout=PREVIEWS_TIMEOUT)
        except ApiError:
            previews = Previews()
    plan = session.plan
    version = plan.version if plan and plan.task == session.task else None
    left_out = max(len(changes) - MAX_PREVIEWS, 0)
    return PlanPreviews(version=version, at=datetime.now(UTC), steps=previews.steps, left_out=left_out)


def _pending_changes(session: Session) -> tuple[StepCall, ...]:
    """Writes that have not started and whose arguments are all known, without references to other steps."""
    status, plan = plan_status(session), session.plan
    if plan is None or plan.task != session.task or status.status in ENDED_STATUSES:
        return ()
    return tuple(
        StepCall(step=step.id, tool=step.tool, arguments=step.arguments or {})
        for step in plan.steps
        if step.id and step.tool and step.effect in ("write", "irreversible")
        if not has_references(step) and status.steps[step.id] == "planned"
    )
