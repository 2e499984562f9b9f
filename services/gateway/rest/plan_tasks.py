"""Finds the task of a session by its id: the newest can be acted on, an earlier one can only be read."""

from typing import NamedTuple

from parley.protocol.execution_plans import PlanLine, PlanList
from services.gateway.access.users import User
from services.gateway.api_errors import ApiError
from services.gateway.ports import Core, load, query
from services.gateway.rest.sessions import readable_session
from services.gateway.views.execution_plan import plan_status
from shared import store_api as api
from shared.domain.session import Session


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
        plan_status(session)  # raises if the session has no such plan and none is being made
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


async def task_versions(task_id: str, user: User, core: Core) -> tuple[str, tuple[int, ...]]:
    """The session's id and the versions of the task's plan. Raises ApiError(not_found)."""
    session_id, _, name = task_id.partition(".")
    session = await readable_session(core, session_id, user)
    plan_status(session)
    if not (name or session.task):
        return session_id, ()
    if name and name != session.task:
        return session_id, (await _find_task(core, session_id, name)).versions
    tasks = await plan_tasks(core, session_id)
    return session_id, next((task.versions for task in tasks if task.task == session.task), ())


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
