"""The tasks of a session's execution plans: each planned request, with the versions of its plan.

They come from the journal, which has the task of every plan; the session has only the newest one.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import RowMapping, and_, func, select

from services.plan_store import tables as t
from services.plan_store.database import ProjectionDatabase
from services.plan_store.queries.plans import updated_at
from shared import store_api as api


async def plan_tasks(database: ProjectionDatabase, session_id: str) -> api.PlanTasks:
    """The tasks, oldest first, without deleted plans."""
    plan, event = t.plans.c, t.journal.c
    of_event = and_(event.session_id == plan.session_id, event.version == plan.version)
    columns = (plan.number, plan.version, plan.kind, plan.goal, plan.status, plan.at, plan.deleted, event.type)
    drafted, steps = event.body["task"].as_string().label("task"), func.json_array_length(plan.steps).label("steps")
    versions = select(*columns, drafted, steps).join(t.journal, of_event).where(plan.session_id == session_id)
    rounds = select(event.version).where(event.session_id == session_id, event.begins_round)
    async with database.begin() as tx:
        rows = (await tx.execute(versions.order_by(plan.number))).mappings().all()
        begins = list(await tx.scalars(rounds.order_by(event.version)))
        is_last = and_(event.session_id == session_id, event.version.in_([version - 1 for version in begins]))
        times: dict[int | None, Any] = dict((await tx.execute(select(event.version, event.at).where(is_last))).all())
        times[None] = await tx.scalar(select(updated_at).where(t.sessions.c.id == session_id))
    return api.PlanTasks(tasks=tuple(_tasks(rows, begins, times)))


def _tasks(
    rows: Sequence[RowMapping], begins: Sequence[int], times: Mapping[int | None, Any]
) -> Iterator[api.PlanTask]:
    """`times`: by a task's `until`, when it last changed."""
    versions: dict[str, list[RowMapping]] = {}
    task, deleted = "", False
    for row in rows:
        task = _task(row, "" if deleted else task)
        deleted = row["deleted"]
        if task and not deleted:
            versions.setdefault(task, []).append(row)
    for task, of_task in versions.items():
        last = of_task[-1]
        until = next((version - 1 for version in begins if version > last["version"]), None)
        yield api.PlanTask(
            task=task,
            versions=tuple(row["version"] for row in of_task),
            until=until,
            updated_at=times.get(until),
            **{name: last[name] for name in ("goal", "status", "steps", "at")},
        )


def _task(row: RowMapping, before: str) -> str:
    """The task of this version of the plan, by the domain's rule; "" if it is not an execution plan."""
    match row["type"]:
        case "plan.drafted":
            return row["task"] or ""
        case "plan.edited" if before or row["number"] > 1:
            return before
        case _ if row["kind"] == "execution":  # submitted by a user, or carried over into a fork
            return f"t{row['version']}"
        case _:
            return ""
