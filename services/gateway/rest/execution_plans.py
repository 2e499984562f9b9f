"""REST: execution plans by their task: made, changed, approved, carried out, cancelled, read and deleted."""

from collections.abc import Mapping

from fastapi import APIRouter
from starlette.responses import Response

from parley.events.values import SessionSettings
from parley.protocol import client as m
from parley.protocol.bounds import OwnPlan
from parley.protocol.execution_plans import ExecutionPlan, PlanLine, PlanList, PlanPreviews, PlanStatus
from services.gateway import handlers
from services.gateway.commands import SessionMessage
from services.gateway.plan_previews import plan_previews
from services.gateway.ports import query
from services.gateway.rest.bodies import JsonRoute
from services.gateway.rest.execution_plan_caller import Calling, Timeout, told
from services.gateway.rest.execution_plan_models import (
    Approve,
    Asked,
    Execute,
    Generate,
    Modify,
    Skip,
    StepPath,
    Store,
    TaskId,
)
from services.gateway.rest.execution_plan_tasks import task, task_seen, tasks_of, tasks_page, versions_seen
from services.gateway.rest.flow_requests import REFUSALS as WAITING
from services.gateway.rest.parameters import From, Limit, Offset, OfSession, To
from services.gateway.rest.refusals import REFUSALS
from services.gateway.rest.sessions import readable
from services.gateway.state import Behind, Here, Me
from services.gateway.trouble import Trouble
from services.gateway.views.execution_plan import formatted, plan_status, statuses
from shared import store_api as api
from shared.domain.plan_steps import task_status
from shared.domain.session import SERVICE_OF

WORKFLOW = "execution_plan"
router = APIRouter(
    prefix="/api/execution-plans", tags=["execution plans"], responses=REFUSALS | WAITING, route_class=JsonRoute
)


@router.post("", status_code=201)
async def generate(asked: Generate, me: Calling) -> ExecutionPlan:
    """A plan for a request, for you to approve; or the question that comes before it."""
    named = asked.model_dump(include={"generator", "tools", "model", "instructions"}, exclude_none=True)
    settings = (asked.settings or SessionSettings()).model_copy(update=named) if named else asked.settings
    message = m.UserMessage(
        type="user_message",
        content=asked.request,
        workflow=WORKFLOW,
        settings=settings,
        knowledge=asked.knowledge,
    )
    return await me.does(message, me.new(asked), asked)


@router.post("/store", status_code=201)
async def store(asked: Store, me: Calling) -> ExecutionPlan:
    """A plan of your own, held against the tools there are, for you to approve."""
    own = OwnPlan(goal=asked.description, steps=asked.steps, notes=asked.notes)
    message = m.UserMessage(
        type="user_message", content=asked.description, workflow=WORKFLOW, settings=asked.settings, plan=own
    )
    return await me.does(message, me.new(asked), asked)


@router.get("")
async def listed(user: Me, core: Behind, session: OfSession = None, limit: Limit = 50, offset: Offset = 0) -> PlanList:
    """My execution plans, the newest of each session, newest first; or, of one `session`, those of all its tasks."""
    if session is not None:
        await readable(core, session, user)
        return tasks_page(session, await tasks_of(core, session), limit, offset)
    wanted = api.ListPlans(user=user.scope, kinds=("execution",), limit=limit, offset=offset)
    page = await query(core.store, api.PLAN_LIST, wanted)
    plans = tuple(
        PlanLine(
            task_id=one.session_id,
            version=one.version,
            description=one.goal,
            status=one.status,
            steps=len(one.steps),
            updated_at=one.at,
        )
        for one in page.plans
    )
    return PlanList(plans=plans, total=page.total)


@router.get("/{task_id}")
async def plan(task_id: TaskId, me: Calling, timeout: Timeout = 0) -> ExecutionPlan:  # noqa: ASYNC109  told to clients
    """The plan as it stands, or as it stands when it asks something or has ended, within the `timeout`.

    Of an earlier task of the session: as it stood when the next one began.
    """
    seen = await task_seen(task_id, me.user, me.core)
    try:
        if seen.current:
            return await me.comes(seen.session, timeout)
    except Trouble as trouble:
        if trouble.code != "timed_out":
            raise
        seen = await task_seen(task_id, me.user, me.core)
    return await told(seen.session, me.core, current=seen.current)


@router.get("/{task_id}/status")
async def status(task_id: TaskId, user: Me, core: Behind) -> PlanStatus:
    """How far it has come."""
    return plan_status((await task_seen(task_id, user, core)).session)


@router.get("/{task_id}/format", response_class=Response)
async def formatted_plan(task_id: TaskId, user: Me, core: Behind) -> Response:
    """The plan with all its steps and what has come of them, as Markdown."""
    text = formatted((await task_seen(task_id, user, core)).session)
    return Response(text, media_type="text/markdown; charset=utf-8")


@router.get("/{task_id}/previews")
async def previewed(task_id: TaskId, user: Me, core: Behind) -> PlanPreviews:
    """What the plan's changes would make of what is there now, step by step, as far as their tools can tell.

    Only of steps that have not begun, and whose every argument the plan shows; of the first 20 of these. Of an earlier
    task of the session nothing is to come.
    """
    seen = await task_seen(task_id, user, core)
    return await plan_previews(seen.session, core.bus, current=seen.current)


@router.get("/{task_id}/versions")
async def versions(task_id: TaskId, user: Me, core: Behind) -> api.PlanHistory:
    """Every version of the task's plan, oldest first."""
    session_id, mine = await versions_seen(task_id, user, core)
    history = await query(core.store, api.PLAN_VERSIONS, api.PlanVersions(session_id=session_id))
    return api.PlanHistory(plans=tuple(one for one in history.plans if one.version in mine))


@router.get("/{task_id}/diff")
async def difference(task_id: TaskId, user: Me, core: Behind, old: From, new: To) -> api.PlanDiff:
    """What changed between two versions of the task's plan, step by step and as a unified diff.

    It tells, too, who made them and why, and what has come of each step by now.
    """
    session_id, mine = await versions_seen(task_id, user, core)
    if wrong := [version for version in (old, new) if version not in mine]:
        hint = f"Its versions are {', '.join(map(str, mine)) or 'not there yet'}."
        raise Trouble("not_found", f"Version {wrong[0]} is none of this task's.", hint, session_id=session_id)
    diff = await query(core.store, api.PLAN_DIFF, api.DiffPlans(session_id=session_id, old=old, new=new))
    stands = statuses((await task_seen(task_id, user, core)).session)
    return diff.model_copy(update={"steps": tuple(_with_status(change, stands) for change in diff.steps)})


def _with_status(change: api.StepChange, stands: Mapping[str, str]) -> api.StepChange:
    """A step that was left out and never took effect has no status."""
    step = change.after or change.before
    status = stands.get((step.id if step else None) or "", "planned" if change.after else None)
    return change.model_copy(update={"status": status})


@router.post("/{task_id}/modify")
async def modify(task_id: TaskId, asked: Modify, me: Calling) -> ExecutionPlan:
    """Another version: as the planner makes it of your feedback, or your own."""
    session = await me.session(task_id)
    if (asked.feedback is None) == (asked.steps is None):
        raise Trouble("invalid", "Give either `feedback` or `steps`.")
    if asked.feedback is not None:
        message: SessionMessage = m.UserMessage(type="user_message", content=asked.feedback)
        if session.asking or session.phase in SERVICE_OF:
            message = m.Feedback(type="feedback", content=asked.feedback)
        return await me.does(message, session.id, asked)
    if asked.version is None:
        raise Trouble("invalid", "Name the `version` that your steps are made from.")
    edit = m.Edit(type="edit", version=asked.version, goal=asked.description, steps=asked.steps, notes=asked.notes)
    return await me.does(edit, session.id, asked)


@router.post("/{task_id}/approve")
async def approve(task_id: TaskId, asked: Approve, me: Calling) -> ExecutionPlan:
    """Approve this version and carry it out; the answer comes when it asks you something, or has come to its end.

    Without `start` it is only approved: `execute` starts it.
    """
    session = await me.session(task_id)
    message = m.Approval(
        type="approval",
        approved=True,
        version=asked.version,
        hash=asked.hash,
        preapprove=asked.preapprove,
        start=asked.start,
    )
    return await me.does(message, session.id, asked)


@router.post("/{task_id}/execute")
async def execute(task_id: TaskId, asked: Execute, me: Calling) -> ExecutionPlan:
    """The result of an approved plan, when there is one.

    A plan that was approved and not started begins; one that was stopped, or that failed, goes on.
    """
    session = await me.session(task_id)
    match task_status(session):
        case "draft" | "pending_approval":
            raise Trouble("not_now", "The plan is not approved.", "Approve it: that starts it, too.")
        case "cancelled":
            raise Trouble("not_now", "The plan was cancelled.", "Generate or store another one.")
        case "paused" if session.paused:
            return await me.does(m.Unpause(type="unpause"), session.id, asked)
        case "approved" | "paused" | "failed":
            return await me.does(m.Retry(type="retry"), session.id, asked)
    return await me.comes(session, asked.timeout)


@router.post("/{task_id}/cancel")
async def cancel(task_id: TaskId, asked: Asked, me: Calling) -> ExecutionPlan:
    """What has not begun is not done any more; what has begun ends, and is recorded."""
    session = await me.session(task_id)
    return await me.does(m.Cancel(type="cancel"), session.id, asked)


@router.post("/{task_id}/steps/{step_id}/skip")
async def skip(task_id: TaskId, step_id: StepPath, asked: Skip, me: Calling) -> ExecutionPlan:
    """Leave a step out: alone, with the steps that use its output, or with an output given in its place."""
    session = await me.session(task_id)
    plan = session.plan
    if plan is None or step_id.partition("[")[0] not in [step.id for step in plan.steps]:
        hint = f"Its steps are {', '.join(step.id or '' for step in plan.steps)}." if plan else "There is no plan yet."
        raise Trouble("not_found", f"The plan has no step {step_id}.", hint, session_id=session.id)
    if session.turn is None:
        raise Trouble("not_now", "The plan is not being carried out.", "Before it is approved, edit the plan instead.")
    message = m.Skip(
        type="skip",
        action_id=f"{plan.task}.{step_id}",
        output=asked.output,
        with_dependents=asked.with_dependents,
    )
    return await me.does(message, session.id, asked)


@router.delete("/{task_id}")
async def delete(task_id: TaskId, user: Me, core: Behind, here: Here) -> PlanStatus:
    """Delete the plan; the session and its journal stay. Refused while it runs."""
    session = await task(task_id, user, core)
    last = plan_status(session)
    await handlers.act(m.DeletePlan(type="delete_plan"), session.id, handlers.Sender(user), core)
    here.hub.nudge(session.id)
    return last
