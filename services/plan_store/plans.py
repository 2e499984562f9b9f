"""Questions about plans and code, in all their versions, that are answered from the rows alone."""

from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import RowMapping, Select, and_, case, func, select

from parley.events.values import Step
from services.plan_store import tables as t
from services.plan_store.database import Database
from services.plan_store.queries import ANSWER_BYTES, once, rows, rows_within, seen_by, within_answer, without_total
from shared import store_api as api
from shared.domain.plan_text import plan_text
from shared.domain.session import newest


def plan_record(row: Mapping[Any, Any]) -> api.PlanRecord:
    steps = tuple(Step.model_validate(step) for step in row["steps"])
    fields = {**row, "steps": steps, "text": plan_text(row["goal"], steps, row["notes"])}
    return api.PlanRecord.model_validate(fields)


def _with_reason(session_id: str) -> Select[Any]:
    """The versions of a session's plan, each with what led to it, as the event that made it says."""
    plan, event = t.plans.c, t.journal.c
    made = and_(event.session_id == plan.session_id, event.version == plan.version)
    reason = func.coalesce(event.body["reason"].as_string(), "").label("reason")
    return select(t.plans, reason).outerjoin(t.journal, made).where(plan.session_id == session_id)


async def plan_versions(database: Database, session_id: str, size: int) -> api.PlanHistory:
    query = _with_reason(session_id).order_by(t.plans.c.number.desc())
    found = await _newest_first(database, query, size)
    return api.PlanHistory(plans=_latest([plan_record(row) for row in found], size))


async def get_plan(database: Database, ask: api.GetPlan) -> api.PlanRecord:
    """Raises StoreError (unknown). Without a version the newest that was not deleted."""
    query = _with_reason(ask.session_id).order_by(t.plans.c.number.desc())
    wanted = ~t.plans.c.deleted if ask.version is None else t.plans.c.version == ask.version
    found = await rows(database, query.where(wanted).limit(1))
    if not found:
        raise api.StoreError("unknown", "There is no such plan.")
    return plan_record(found[0])


async def list_plans(database: Database, ask: api.ListPlans) -> api.PlanPage:
    """Which plans they are is found in indexes, one look a session: only those of the page are read whole.

    No column says that a version is the newest, so none can be wrong after another release has written.
    """
    plan, seen = t.plans.c, seen_by(ask.user, select(t.sessions.c.id)).subquery()
    wanted = [~plan.deleted]
    wanted += [plan.status.in_(ask.statuses)] if ask.statuses else []
    wanted += [plan.kind.in_(ask.kinds)] if ask.kinds else []
    last = select(t.plans).where(plan.session_id == seen.c.id).order_by(plan.number.desc()).limit(1)
    at = last.with_only_columns(case((and_(*wanted), plan.at))).scalar_subquery()
    newest = once(select(seen.c.id, at.label("at")))
    keys = select(newest).where(newest.c.at.is_not(None))
    count = select(func.count()).select_from(keys.subquery())
    page = keys.order_by(newest.c.at.desc(), newest.c.id).limit(ask.limit).offset(ask.offset)
    shown = page.add_columns(count.scalar_subquery().label("total")).subquery()
    version = t.plans.alias().c
    number = select(func.max(version.number)).where(version.session_id == shown.c.id).scalar_subquery()
    of_page = shown.join(t.plans, and_(plan.session_id == shown.c.id, plan.number == number))
    async with database.begin() as tx:
        query = select(t.plans, shown.c.total).select_from(of_page).order_by(shown.c.at.desc(), shown.c.id)
        found, whole = await rows_within(tx, query, ANSWER_BYTES)
        total = found[0]["total"] if found else await tx.scalar(count) if ask.offset else 0
    within_answer(whole)
    return api.PlanPage(plans=tuple(plan_record(without_total(row)) for row in found), total=total or 0)


async def code_versions(database: Database, ask: api.CodeVersions, size: int) -> api.CodeHistory:
    columns = (t.code_versions.c[name] for name in api.CodeRecord.model_fields)
    query = (
        select(*columns).where(t.code_versions.c.session_id == ask.session_id).order_by(t.code_versions.c.number.desc())
    )
    found = await _newest_first(database, query, size)
    return api.CodeHistory(codes=_latest([api.CodeRecord(**row) for row in found], size))


async def _newest_first(database: Database, query: Select[Any], size: int) -> list[RowMapping]:
    async with database.begin() as tx:
        return (await rows_within(tx, query, size))[0]


def _latest[Record: api.Message](records: Sequence[Record], size: int) -> tuple[Record, ...]:
    """All versions, oldest first, or as many of the newest as one answer can carry: nobody could ask for less."""
    return newest(tuple(reversed(records)), size, lambda record: record.model_dump_json())
