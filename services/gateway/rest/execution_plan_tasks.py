"""Which task of a session an id means: the newest, which can be acted on, or an earlier one, which can be read."""

from typing import NamedTuple

from parley.protocol.execution_plans import PlanLine, PlanList
from services.gateway.access.users import User
from services.gateway.ports import Core, load, query
from services.gateway.rest.sessions import readable
from services.gateway.trouble import Trouble
from services.gateway.views.execution_plan import plan_status
from shared import store_api as api
from shared.domain.session import Session, put_back


class Seen(NamedTuple):
    """The session with the task at hand: as it is now, or, where it has gone on, as it was before the next request."""

    session: Session
    current: bool


async def task(task_id: str, user: User, core: Core) -> Session:
    """The session, with this task at hand. Raises Trouble(not_found, not_now)."""
    seen = await task_seen(task_id, user, core)
    if seen.current:
        return seen.session
    raise Trouble(
        "not_now",
        "The session has gone on to another plan: this one can only be read.",
        f"Act on the newest one, which is {seen.session.id}, or begin with this plan anew: store its steps.",
        session_id=seen.session.id,
    )


async def task_seen(task_id: str, user: User, core: Core) -> Seen:
    """Raises Trouble(not_found)."""
    session_id, _, name = task_id.partition(".")
    session = await readable(core, session_id, user)
    if not name or name == session.task:
        plan_status(session)  # there is such a plan, or one is being made
        return Seen(session, current=True)
    earlier = await _task_of(core, session_id, name)
    as_it_was = await load(core, session_id, version=earlier.until)
    return Seen(put_back(as_it_was.session), current=False)


async def _task_of(core: Core, session_id: str, name: str) -> api.PlanTask:
    """Raises Trouble(not_found)."""
    tasks = await tasks_of(core, session_id)
    for one in tasks:
        if one.task == name:
            return one
    known = ", ".join(f"{session_id}.{one.task}" for one in tasks)
    hint = f"Its tasks are {known}." if known else "It has none."
    raise Trouble("not_found", f"The session has no task {name}, or its plan was deleted.", hint, session_id=session_id)


async def versions_seen(task_id: str, user: User, core: Core) -> tuple[str, tuple[int, ...]]:
    """The session's id, and the versions of the task's plan. Raises Trouble(not_found)."""
    session_id, _, name = task_id.partition(".")
    session = await readable(core, session_id, user)
    plan_status(session)
    if not (name or session.task):
        return session_id, ()
    if name and name != session.task:
        return session_id, (await _task_of(core, session_id, name)).versions
    tasks = await tasks_of(core, session_id)
    return session_id, next((one.versions for one in tasks if one.task == session.task), ())


async def tasks_of(core: Core, session_id: str) -> tuple[api.PlanTask, ...]:
    """Oldest first."""
    return (await query(core.store, api.PLAN_TASKS, api.TasksOfPlans(session_id=session_id))).tasks


def tasks_page(session_id: str, tasks: tuple[api.PlanTask, ...], limit: int, offset: int) -> PlanList:
    """Newest first, each by its own id."""
    lines = tuple(
        PlanLine(
            task_id=f"{session_id}.{one.task}",
            version=one.versions[-1],
            description=one.goal,
            status=one.status,
            steps=one.steps,
            updated_at=one.at,
        )
        for one in reversed(tasks)
    )
    return PlanList(plans=lines[offset : offset + limit], total=len(lines))
