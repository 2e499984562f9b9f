"""What the routes of execution plans share: request models, tasks by id, previews, and a session to wait for."""

from datetime import UTC, datetime
from typing import Annotated, NamedTuple

from fastapi import Depends, Path, Query, Request
from pydantic import BaseModel, ConfigDict, Field, JsonValue, StrictBool

from parley.events.values import Line, Text
from parley.protocol.bounds import Hash, Preapproved, SentKnowledge, SentSteps, SentTimeZone, Settings, Words
from parley.protocol.execution_plans import TASK_ID, ExecutionPlan, PlanLine, PlanList, PlanPreviews
from parley.protocol.tools import TOOLS_PREVIEWS, PreviewCalls, Previews, StepCall
from services.gateway.access.users import User
from services.gateway.api_errors import ApiError
from services.gateway.live.hub import Follower, while_connected
from services.gateway.messages import handlers
from services.gateway.messages.commands import SessionMessage
from services.gateway.messages.tools import ask_executor
from services.gateway.ports import Core, GatewayBus, load, query
from services.gateway.rest.sessions import readable_session
from services.gateway.state import CoreDep, GatewayDep, WaitingUserDep
from services.gateway.views.execution_plan import current_plan, execution_plan
from services.gateway.views.step_sections import step_sections
from shared import store_api as api
from shared.domain.kernel.session import Session
from shared.domain.steps.plan_steps import has_references, task_status

TaskId = Annotated[
    str,
    Path(
        pattern=TASK_ID,
        description="`<session>.<task>`; the session's id alone means its newest plan",
    ),
]
StepPath = Annotated[
    str,
    Path(
        pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,31}(\[[0-9]{1,3}\])?$",
        description="the id of a step; `s3[0]` is its call for the first item of its list",
    ),
]
Version = Annotated[int, Field(ge=1, le=2**48, strict=True)]
MAX_PREVIEWS = 20  # previews of a plan
PREVIEWS_TIMEOUT = 5.0  # more than the executor allows for one preview
ENDED_STATUSES = ("completed", "cancelled")  # such a plan has no pending changes
START_SECONDS = 20  # that the start of a plan waits at least for the service at work


class TaskRequest(BaseModel):
    """`id` is your own id of this request: sent twice, it is carried out once. `timeout`: seconds to wait."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,64}$")] | None = None
    timeout: Annotated[float, Field(ge=0, le=600)] = 60


class GenerateRequest(TaskRequest):
    """A request to make a plan for. The last four can be given in `settings` instead; the session keeps them.

    `generator`: the plan generator to use. `tools`: the only tools that the plan may call. `model`: the model to use,
    one that the operator configured. `instructions`: rules for every version of the plan.
    """

    request: Text
    settings: Settings | None = None
    knowledge: SentKnowledge = ()
    time_zone: SentTimeZone = None
    generator: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    tools: Annotated[tuple[Line, ...], Field(min_length=1, max_length=500)] | None = None
    model: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    instructions: Annotated[str, Field(min_length=1, max_length=20_000)] | None = None


class StoreRequest(TaskRequest):
    """A plan of your own. Steps without an id get one."""

    description: Line
    steps: SentSteps
    notes: Words = ""
    settings: Settings | None = None
    time_zone: SentTimeZone = None


class ModifyRequest(TaskRequest):
    """Either `feedback` for the planner, or your own `steps` with the `version` that they are based on."""

    feedback: Text | None = None
    version: Version | None = None
    description: Line | None = None
    steps: SentSteps | None = None
    notes: Words | None = None


class ApproveRequest(TaskRequest):
    """The exact version to approve, with the hash of its content. It starts at once, or without `start` on `execute`.

    `preapprove`: steps whose calls are approved with any values that their references get.
    """

    version: Version
    hash: Hash | None = None
    preapprove: Preapproved = ()
    start: Annotated[bool, Field(strict=True)] = True


class SkipRequest(TaskRequest):
    """`output`: replaces the step's output; not null. `with_dependents`: also skip the steps that refer to it."""

    output: JsonValue = None
    with_dependents: StrictBool = False


class ExecuteRequest(TaskRequest):
    """Start an approved plan, and wait for its result. `retry`: continue one that failed, was stopped or is paused."""

    retry: StrictBool = False


class TaskState(NamedTuple):
    """The session with the task: as it is now, or for an earlier task as it was before the next request."""

    session: Session
    current: bool


async def current_task(task_id: str, user: User, core: Core) -> Session:
    """The session, if this is its current task. Raises ApiError (not_found, not_now)."""
    state = await task_state(task_id, user, core)
    if state.current:
        return state.session
    raise ApiError(
        "not_now",
        "The session has gone on to another plan: this one can only be read.",
        f"Act on the newest one, which is {state.session.id}, or begin with this plan anew: store its steps.",
        session_id=state.session.id,
    )


async def task_state(task_id: str, user: User, core: Core) -> TaskState:
    """The session with the task, current or earlier. Raises ApiError(not_found)."""
    session_id, _, name = task_id.partition(".")
    session = await readable_session(core, session_id, user)
    if not name or name == session.task:
        current_plan(session)  # raises if the session has no such plan and none is being made
        return TaskState(session, current=True)
    earlier = await _find_task(core, session_id, name)
    as_it_was = await load(core, session_id, version=earlier.until)
    return TaskState(as_it_was.session, current=False)


async def _find_task(core: Core, session_id: str, name: str) -> api.PlanTask:
    """Raises ApiError(not_found)."""
    tasks = await plan_tasks(core, session_id)
    for task in tasks:
        if task.task == name:
            return task
    known = ", ".join(f"{session_id}.{task.task}" for task in tasks)
    hint = f"Its tasks are {known}." if known else "It has none."
    raise ApiError(
        "not_found", f"The session has no task {name}, or its plan was deleted.", hint, session_id=session_id
    )


async def task_versions(session: Session, core: Core) -> tuple[int, ...]:
    """The versions of the plan of the session's task."""
    return next((task.versions for task in await plan_tasks(core, session.id) if task.task == session.task), ())


async def plan_tasks(core: Core, session_id: str) -> tuple[api.PlanTask, ...]:
    """The session's tasks with plans, oldest first."""
    return (await query(core.store, api.PLAN_TASKS, api.ListPlanTasks(session_id=session_id))).tasks


def tasks_page(session_id: str, tasks: tuple[api.PlanTask, ...], limit: int, offset: int) -> PlanList:
    """A page of a session's tasks, newest first."""
    lines = tuple(
        PlanLine(
            task_id=f"{session_id}.{task.task}",
            version=task.versions[-1],
            description=task.goal,
            status=task.status,
            steps=task.steps,
            updated_at=task.updated_at or task.at,
        )
        for task in reversed(tasks)
    )
    return PlanList(plans=lines[offset : offset + limit], total=len(lines))


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
    plan = current_plan(session)
    version = plan.version if plan else None
    left_out = max(len(changes) - MAX_PREVIEWS, 0)
    return PlanPreviews(version=version, at=datetime.now(UTC), steps=previews.steps, left_out=left_out)


def _pending_changes(session: Session) -> tuple[StepCall, ...]:
    """Writes that have not started and whose arguments are all known, without references to other steps."""
    plan, steps = current_plan(session), step_sections(session)
    if plan is None or task_status(session) in ENDED_STATUSES:
        return ()
    return tuple(
        StepCall(step=step.id, tool=step.tool, arguments=step.arguments or {})
        for step in plan.steps
        if step.id and step.tool and step.effect in ("write", "irreversible")
        if not has_references(step) and steps[step.id].status == "planned"
    )


class Caller:
    """The user of a request, who acts on sessions and waits for the result."""

    def __init__(self, request: Request, user: WaitingUserDep, core: CoreDep, gateway: GatewayDep) -> None:
        self._request, self.user, self.core, self._gateway = request, user, core, gateway

    async def begin(self, message: SessionMessage, body: TaskRequest) -> ExecutionPlan:
        """As `act`, in a session that the message begins."""
        session_id = handlers.session_id_for(self.user, body.id, self.core)
        return await self.act(message, session_id, body, new=body.id is None)

    async def act(
        self, message: SessionMessage, session_id: str, body: TaskRequest, *, when_idle: bool = False, new: bool = False
    ) -> ExecutionPlan:
        """Carry the message out, and return the plan once the session is idle. Raises ApiError, CommandRefused.

        With `when_idle`, wait for the service at work first, for example until it has reported a failure. `new`: this
        process has just made up the id.
        """
        message = message.model_copy(update={"id": body.id})
        quota = self._gateway.quotas.for_user(self.user.id)
        quota.check_may_work(session_id)
        follower = Follower(self._gateway.hub, session_id, self.user, quota, new=new)
        try:
            await follower.refresh()
            if when_idle:
                await while_connected(self._request, follower.wait_until_idle(0, max(body.timeout, START_SECONDS)))
            result = await handlers.act(message, session_id, handlers.Sender(self.user), self.core, follower.channel)
            if body.timeout:
                wait = follower.wait_until_idle(result.version, body.timeout)
                session = await while_connected(self._request, wait)
            else:
                session = (await follower.channel.refresh()).session
        finally:
            follower.leave()
        return await plan_response(session, self.core)

    async def wait_for_plan(self, session: Session, seconds: float) -> ExecutionPlan:
        """The plan once the session is idle. Raises ApiError(timed_out)."""
        if not seconds or not session.is_working:
            return await plan_response(session, self.core)
        follower = Follower(self._gateway.hub, session.id, self.user, self._gateway.quotas.for_user(self.user.id))
        try:
            await follower.refresh()
            session = await while_connected(self._request, follower.wait_until_idle(session.version, seconds))
        finally:
            follower.leave()
        return await plan_response(session, self.core)

    async def session(self, task_id: str) -> Session:
        return await current_task(task_id, self.user, self.core)


Timeout = Annotated[float, Query(ge=0, le=600, description="seconds")]
CallerDep = Annotated[Caller, Depends()]


async def plan_response(session: Session, core: Core, *, current: bool = True) -> ExecutionPlan:
    if session.plan is None:
        return execution_plan(session)
    history = await query(core.store, api.PLAN_VERSIONS, api.PlanVersions(session_id=session.id))
    return execution_plan(session, history.plans, current=current)
