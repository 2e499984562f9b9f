"""Queries for plans and code in all their versions, answered from the rows alone."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import RowMapping, Select, and_, case, func, select

from parley.events.values import Step
from services.plan_store import tables as t
from services.plan_store.database import ProjectionDatabase
from services.plan_store.queries.sessions import (
    ANSWER_BYTES,
    materialized,
    require_complete,
    rows,
    rows_within,
    visible_to,
    without_total,
)
from shared import store_api as api
from shared.domain.newest_within import newest_within
from shared.domain.plan_text import plan_text

# when the session's newest plan, its status or a step last changed
updated_at = t.sessions.c.snapshot["plan_changed_at"].as_string().label("updated_at")


def plan_record(row: Mapping[Any, Any]) -> api.PlanRecord:
    steps = tuple(Step.model_validate(step) for step in row["steps"])
    fields = {**row, "steps": steps, "text": plan_text(row["goal"], steps, row["notes"])}
    return api.PlanRecord.model_validate(fields)


def _with_reason(session_id: str) -> Select[Any]:
    """A query for the versions of a session's plan, each with the reason from its event."""
    plan, event = t.plans.c, t.journal.c
    of_version = and_(event.session_id == plan.session_id, event.version == plan.version)
    reason = func.coalesce(event.body["reason"].as_string(), "").label("reason")
    return select(t.plans, reason).outerjoin(t.journal, of_version).where(plan.session_id == session_id)


async def plan_versions(database: ProjectionDatabase, session_id: str, size: int) -> api.PlanHistory:
    query = _with_reason(session_id).order_by(t.plans.c.number.desc())
    rows_found = await _newest_first(database, query, size)
    return api.PlanHistory(plans=_newest_within([plan_record(row) for row in rows_found], size))


async def get_plan(database: ProjectionDatabase, ask: api.GetPlan) -> api.PlanRecord:
    """The given version, by default the newest that is not deleted. Raises StoreError (unknown)."""
    query = _with_reason(ask.session_id).order_by(t.plans.c.number.desc())
    conditions = ~t.plans.c.deleted if ask.version is None else t.plans.c.version == ask.version
    rows_found = await rows(database, query.where(conditions).limit(1))
    if not rows_found:
        raise api.StoreError("unknown", "There is no such plan.")
    return plan_record(rows_found[0])


async def list_plans(database: ProjectionDatabase, ask: api.ListPlans) -> api.PlanPage:
    """One page of sessions' newest plans. Index lookups select them; only those of the page are read completely.

    No column marks the newest version, so none can be wrong after another release has written.
    """
    plan, visible = t.plans.c, visible_to(ask.user, select(t.sessions.c.id)).subquery()
    conditions = [~plan.deleted]
    conditions += [plan.status.in_(ask.statuses)] if ask.statuses else []
    conditions += [plan.kind.in_(ask.kinds)] if ask.kinds else []
    last = select(t.plans).where(plan.session_id == visible.c.id).order_by(plan.number.desc()).limit(1)
    at = last.with_only_columns(case((and_(*conditions), plan.at))).scalar_subquery()
    newest = materialized(select(visible.c.id, at.label("at")))
    keys = select(newest).where(newest.c.at.is_not(None))
    count = select(func.count()).select_from(keys.subquery())
    page = keys.order_by(newest.c.at.desc(), newest.c.id).limit(ask.limit).offset(ask.offset)
    selected = page.add_columns(count.scalar_subquery().label("total")).subquery()
    version = t.plans.alias().c
    number = select(func.max(version.number)).where(version.session_id == selected.c.id).scalar_subquery()
    of_page = selected.join(t.plans, and_(plan.session_id == selected.c.id, plan.number == number))
    of_page = of_page.join(t.sessions, t.sessions.c.id == selected.c.id)
    async with database.begin() as tx:
        query = (
            select(t.plans, updated_at, selected.c.total)
            .select_from(of_page)
            .order_by(selected.c.at.desc(), selected.c.id)
        )
        rows_found, whole = await rows_within(tx, query, ANSWER_BYTES)
        total = rows_found[0]["total"] if rows_found else await tx.scalar(count) if ask.offset else 0
    require_complete(whole)
    return api.PlanPage(plans=tuple(plan_record(without_total(row)) for row in rows_found), total=total or 0)


async def code_versions(database: ProjectionDatabase, ask: api.CodeVersions, size: int) -> api.CodeHistory:
    columns = (t.code_versions.c[name] for name in api.CodeRecord.model_fields)
    query = (
        select(*columns).where(t.code_versions.c.session_id == ask.session_id).order_by(t.code_versions.c.number.desc())
    )
    rows_found = await _newest_first(database, query, size)
    return api.CodeHistory(codes=_newest_within([api.CodeRecord(**row) for row in rows_found], size))


async def _newest_first(database: ProjectionDatabase, query: Select[Any], size: int) -> list[RowMapping]:
    async with database.begin() as tx:
        return (await rows_within(tx, query, size))[0]


def _newest_within[Record: api.StoreMessage](records: Sequence[Record], size: int) -> tuple[Record, ...]:
    """All versions, oldest first, or as many of the newest as fit the answer: this request has no paging."""
    return newest_within(tuple(reversed(records)), size, lambda record: record.model_dump_json())
