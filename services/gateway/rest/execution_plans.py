"""REST: execution plans by task: create, change, approve, execute, cancel, read and delete."""

from collections.abc import Mapping

from fastapi import APIRouter
from starlette.responses import Response

from parley.events.values import SessionSettings
from parley.protocol import client as m
from parley.protocol.bounds import OwnPlan
from parley.protocol.execution_plans import ExecutionPlan, PlanLine, PlanList, PlanPreviews, PlanStatus
from services.gateway.api_errors import ApiError
from services.gateway.messages import handlers
from services.gateway.messages.commands import SessionMessage
from services.gateway.messages.plan_commands import Execute
from services.gateway.ports import query
from services.gateway.rest.flows import WAITING_RESPONSES
from services.gateway.rest.models import From, Limit, Offset, OfSession, To
from services.gateway.rest.plan_tasks import (
    ApproveRequest,
    CallerDep,
    ExecuteRequest,
    GenerateRequest,
    ModifyRequest,
    SkipRequest,
    StepPath,
    StoreRequest,
    TaskId,
    TaskRequest,
    Timeout,
    current_task,
    plan_previews,
    plan_response,
    plan_tasks,
    task_state,
    task_versions,
    tasks_page,
)
from services.gateway.rest.requests import ERROR_RESPONSES, JsonRoute
from services.gateway.rest.sessions import readable_session
from services.gateway.state import CoreDep, GatewayDep, UserDep
from services.gateway.views.execution_plan import plan_markdown, plan_status, step_statuses
from shared import store_api as api
from shared.domain.kernel.session import SERVICE_OF
from shared.domain.steps.plan_steps import task_status

WORKFLOW = "execution_plan"
router = APIRouter(
    prefix="/api/execution-plans",
    tags=["execution plans"],
    responses=ERROR_RESPONSES | WAITING_RESPONSES,
    route_class=JsonRoute,
)


@router.post("", status_code=201)
async def generate(body: GenerateRequest, caller: CallerDep) -> ExecutionPlan:
    """Make a plan for a request. Returns the plan to approve, or a question to answer first."""
    choices = body.model_dump(include={"generator", "tools", "model", "instructions"}, exclude_none=True)
    settings = (body.settings or SessionSettings()).model_copy(update=choices | {"plan_required": True})
    message = m.UserMessage(
        type="user_message",
        content=body.request,
        workflow=WORKFLOW,
        settings=settings,
        knowledge=body.knowledge,
        time_zone=body.time_zone,
    )
    return await caller.begin(message, body)


@router.post("/store", status_code=201)
async def store(body: StoreRequest, caller: CallerDep) -> ExecutionPlan:
    """Store a plan of your own. It is checked against the available tools, and awaits your approval."""
    own = OwnPlan(goal=body.description, steps=body.steps, notes=body.notes)
    message = m.UserMessage(
        type="user_message",
        content=body.description,
        workflow=WORKFLOW,
        settings=body.settings,
        time_zone=body.time_zone,
        plan=own,
    )
    return await caller.begin(message, body)


@router.get("")
async def listed(
    user: UserDep, core: CoreDep, session: OfSession = None, limit: Limit = 50, offset: Offset = 0
) -> PlanList:
    """My execution plans, newest first: the newest plan of each session, or with `session` those of all its tasks."""
    if session is not None:
        await readable_session(core, session, user)
        return tasks_page(session, await plan_tasks(core, session), limit, offset)
    request = api.ListPlans(user=user.scope, kinds=("execution",), limit=limit, offset=offset)
    page = await query(core.store, api.PLAN_LIST, request)
    plans = tuple(
        PlanLine(
            task_id=record.session_id,
            version=record.version,
            description=record.goal,
            status=record.status,
            steps=len(record.steps),
            updated_at=record.updated_at or record.at,
        )
        for record in page.plans
    )
    return PlanList(plans=plans, total=page.total)


@router.get("/{task_id}")
async def plan(task_id: TaskId, caller: CallerDep, timeout: Timeout = 0) -> ExecutionPlan:  # noqa: ASYNC109  a query parameter
    """The plan. With `timeout`, wait so many seconds for it to end or to need you.

    An earlier task of the session is shown as it was when the next one began.
    """
    state = await task_state(task_id, caller.user, caller.core)
    try:
        if state.current:
            return await caller.wait_for_plan(state.session, timeout)
    except ApiError as error:
        if error.code != "timed_out":
            raise
        state = await task_state(task_id, caller.user, caller.core)
    return await plan_response(state.session, caller.core, current=state.current)


@router.get("/{task_id}/status")
async def status(task_id: TaskId, user: UserDep, core: CoreDep) -> PlanStatus:
    """The status of the plan and of each step."""
    return plan_status((await task_state(task_id, user, core)).session)


@router.get("/{task_id}/format", response_class=Response)
async def formatted_plan(task_id: TaskId, user: UserDep, core: CoreDep) -> Response:
    """The plan with its steps and their outcomes, as Markdown."""
    text = plan_markdown((await task_state(task_id, user, core)).session)
    return Response(text, media_type="text/markdown; charset=utf-8")


@router.get("/{task_id}/previews")
async def previewed(task_id: TaskId, user: UserDep, core: CoreDep) -> PlanPreviews:
    """Previews of the plan's changes to the current data, by step, where the tools can tell.

    They cover the first 20 steps that have not started and whose arguments are all known. An earlier task has none.
    """
    state = await task_state(task_id, user, core)
    return await plan_previews(state.session, core.bus, current=state.current)


@router.get("/{task_id}/versions")
async def versions(task_id: TaskId, user: UserDep, core: CoreDep) -> api.PlanHistory:
    """Every version of the task's plan, oldest first."""
    session = (await task_state(task_id, user, core)).session
    own_versions = await task_versions(session, core)
    history = await query(core.store, api.PLAN_VERSIONS, api.PlanVersions(session_id=session.id))
    return api.PlanHistory(plans=tuple(plan for plan in history.plans if plan.version in own_versions))


@router.get("/{task_id}/diff")
async def difference(task_id: TaskId, user: UserDep, core: CoreDep, old: From, new: To) -> api.PlanDiff:
    """What changed between two versions of the task's plan, by step and as a unified diff.

    It includes who made each version and why, and each step's current status.
    """
    session = (await task_state(task_id, user, core)).session
    own_versions = await task_versions(session, core)
    if foreign_versions := [version for version in (old, new) if version not in own_versions]:
        hint = f"Its versions are {', '.join(map(str, own_versions)) or 'not there yet'}."
        raise ApiError(
            "not_found", f"Version {foreign_versions[0]} does not belong to this task.", hint, session_id=session.id
        )
    diff = await query(core.store, api.PLAN_DIFF, api.DiffPlans(session_id=session.id, old=old, new=new))
    statuses = step_statuses(session)
    return diff.model_copy(update={"steps": tuple(_with_status(change, statuses) for change in diff.steps)})


def _with_status(change: api.StepChange, statuses: Mapping[str, str]) -> api.StepChange:
    """A step that was removed before it started has no status."""
    step = change.after or change.before
    status = statuses.get((step.id if step else None) or "", "planned" if change.after else None)
    return change.model_copy(update={"status": status})


@router.post("/{task_id}/modify")
async def modify(task_id: TaskId, body: ModifyRequest, caller: CallerDep) -> ExecutionPlan:
    """Make another version: by the planner from your feedback, or your own.

    While the plan runs, or a call waits for approval, the planner answers first: in words, or with an `offer`.
    """
    session = await caller.session(task_id)
    if (body.feedback is None) == (body.steps is None):
        raise ApiError("invalid", "Give either `feedback` or `steps`.")
    if body.feedback is not None:
        message: SessionMessage = m.UserMessage(type="user_message", content=body.feedback)
        if session.is_awaiting_user or session.phase in SERVICE_OF:
            message = m.Feedback(type="feedback", content=body.feedback)
        return await caller.act(message, session.id, body)
    if body.version is None:
        raise ApiError("invalid", "Name the `version` that your steps are made from.")
    edit = m.Edit(type="edit", version=body.version, goal=body.description, steps=body.steps, notes=body.notes)
    return await caller.act(edit, session.id, body)


@router.post("/{task_id}/approve")
async def approve(task_id: TaskId, body: ApproveRequest, caller: CallerDep) -> ExecutionPlan:
    """Approve this version and execute it. Responds when the plan ends or needs you.

    Without `start` it is only approved: `execute` starts it.
    """
    session = await caller.session(task_id)
    message = m.Approval(
        type="approval",
        approved=True,
        version=body.version,
        hash=body.hash,
        preapprove=body.preapprove,
        start=body.start,
    )
    return await caller.act(message, session.id, body)


@router.post("/{task_id}/execute")
async def execute(task_id: TaskId, body: ExecuteRequest, caller: CallerDep) -> ExecutionPlan:
    """Execute an approved plan and wait for the result.

    A plan that has not started starts. One that has started is only waited for, so it is safe to send this right after
    an approval. With `retry`, a plan that has failed, was stopped or is paused goes on.
    """
    session = await caller.session(task_id)
    status = task_status(session)
    retry = body.retry and status in ("failed", "paused")  # a failure that comes after the request is not retried
    return await caller.act(Execute(retry=retry), session.id, body, when_idle=retry or status == "approved")


@router.post("/{task_id}/cancel")
async def cancel(task_id: TaskId, body: TaskRequest, caller: CallerDep) -> ExecutionPlan:
    """Cancel the plan. Steps that have not started never will; running ones end and are recorded."""
    session = await caller.session(task_id)
    return await caller.act(m.Cancel(type="cancel"), session.id, body)


@router.post("/{task_id}/steps/{step_id}/skip")
async def skip(task_id: TaskId, step_id: StepPath, body: SkipRequest, caller: CallerDep) -> ExecutionPlan:
    """Skip a step: alone, with the steps that use its output, or with an output of your own in its place."""
    session = await caller.session(task_id)
    plan = session.plan
    if plan is None or step_id.partition("[")[0] not in [step.id for step in plan.steps]:
        hint = f"Its steps are {', '.join(step.id or '' for step in plan.steps)}." if plan else "There is no plan yet."
        raise ApiError("not_found", f"The plan has no step {step_id}.", hint, session_id=session.id)
    if session.turn is None:
        raise ApiError("not_now", "The plan is not being carried out.", "Before it is approved, edit the plan instead.")
    message = m.Skip(
        type="skip",
        action_id=f"{plan.task}.{step_id}",
        output=body.output,
        with_dependents=body.with_dependents,
    )
    return await caller.act(message, session.id, body)


@router.delete("/{task_id}")
async def delete(task_id: TaskId, user: UserDep, core: CoreDep, gateway: GatewayDep) -> PlanStatus:
    """Delete the plan. The session and its journal stay. Refused while the plan runs."""
    session = await current_task(task_id, user, core)
    status = plan_status(session)
    await handlers.act(m.DeletePlan(type="delete_plan"), session.id, handlers.Sender(user), core)
    gateway.hub.wake(session.id)
    await plan_tasks(core, session.id)  # plan_store has recorded the deletion once it answers: lists omit the plan
    return status
