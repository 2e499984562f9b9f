"""Questions that are answered from the rows alone."""

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic_core import to_json
from sqlalchemy import ColumnElement, CompoundSelect, RowMapping, Select, and_, exists, func, or_, select, union_all
from sqlalchemy.ext.asyncio import AsyncConnection

from parley.events.values import Step
from services.plan_store import tables as t
from services.plan_store import upgrades
from services.plan_store.database import Database
from shared import store_api as api
from shared.domain.session import newest
from shared.domain.state import plan_text

MAX_WORDS = 10
ANSWER_BYTES = 3_500_000  # of any answer, where the broker takes as much
PAGE_BYTES = 1_000_000  # of a page of the journal
ROWS_AT_ONCE = 64  # that are in memory before they are counted
SUMMARY = tuple(
    t.sessions.c.parent_id.label("parent") if name == "parent" else t.sessions.c[name]
    for name in api.SessionSummary.model_fields
)


async def rows(database: Database, query: Select[Any], **values: object) -> list[RowMapping]:
    async with database.begin() as tx:
        return list((await tx.execute(query, values)).mappings())


async def rows_within(tx: AsyncConnection, query: Select[Any], size: int) -> tuple[list[RowMapping], bool]:
    """The first rows that have `size` bytes together, at least one, and whether these are all.

    No more is read: a row can have 256 KiB, and a thousand of them would be read for the few that fit an answer.
    """
    found: list[RowMapping] = []
    async with tx.stream(query.execution_options(max_row_buffer=ROWS_AT_ONCE)) as result:
        async for row in result.mappings():
            size -= _size(row)
            if size < 0 and found:
                return found, False
            found.append(row)
    return found, True


def _size(row: RowMapping) -> int:
    """About how many bytes the row adds to an answer."""
    return sum(len(value) if isinstance(value, str) else len(to_json(value)) for value in row.values())


async def page(
    database: Database, query: Select[Any], order: tuple[ColumnElement[Any], ...], limit: int, offset: int
) -> tuple[list[RowMapping], int]:
    """One page of the rows, and how many there are in all. Raises StoreError (too_large)."""
    async with database.begin() as tx:
        total = await tx.scalar(select(func.count()).select_from(query.subquery()))
        found, whole = await rows_within(tx, query.order_by(*order).limit(limit).offset(offset), ANSWER_BYTES)
    _within_answer(whole)
    return found, total or 0


def _within_answer(whole: bool) -> None:
    """Raises StoreError (too_large) for rows that did not fit."""
    if not whole:
        raise api.StoreError("too_large", f"These rows have more than {ANSWER_BYTES} bytes: ask for fewer.")


def seen_by(user: str) -> CompoundSelect[Any]:
    """The ids of their own sessions and of those that were shared with them."""
    shared = select(t.shares.c.session_id).where(t.shares.c.user == user, t.shares.c.role.is_not(None))
    return union_all(select(t.sessions.c.id).where(t.sessions.c.owner == user), shared)


def visible_to(user: str) -> ColumnElement[bool]:
    """Their own sessions and those that were shared with them."""
    mine = and_(t.shares.c.session_id == t.sessions.c.id, t.shares.c.user == user, t.shares.c.role.is_not(None))
    return or_(t.sessions.c.owner == user, exists().where(mine))


def matching(text: ColumnElement[str], query: str) -> list[ColumnElement[bool]]:
    """Every word, anywhere in a case-folded text, whatever its case; `%`, `_` and quotes are ordinary characters."""
    words = query.replace("\x00", "").casefold().split()[:MAX_WORDS]
    return [text.contains(word, autoescape=True) for word in words]


async def list_sessions(database: Database, ask: api.ListSessions) -> api.SessionPage:
    query = select(*SUMMARY).where(t.sessions.c.version > 0, *matching(t.sessions.c.search_text, ask.query))
    if ask.user is not None:
        query = query.where(visible_to(ask.user))
    if ask.states:
        query = query.where(t.sessions.c.state.in_(ask.states))
    if ask.phases:
        query = query.where(t.sessions.c.phase.in_(ask.phases))
    order = (t.sessions.c.updated_at.desc(), t.sessions.c.id)
    found, total = await page(database, query, order, ask.limit, ask.offset)
    return api.SessionPage(sessions=tuple(api.SessionSummary(**row) for row in found), total=total)


async def get_session(database: Database, ask: api.GetSession) -> api.SessionSummary:
    found = await rows(database, select(*SUMMARY).where(t.sessions.c.id == ask.session_id, t.sessions.c.version > 0))
    if not found:
        raise api.StoreError("unknown", "There is no such session.")
    return api.SessionSummary(**found[0])


async def read_journal(database: Database, ask: api.ReadJournal, size: int = PAGE_BYTES) -> api.JournalPage:
    mine = t.journal.c.session_id == ask.session_id
    query = select(t.journal.c.body).where(mine, t.journal.c.version > ask.after).order_by(t.journal.c.version)
    async with database.begin() as tx:
        found, _ = await rows_within(tx, query.limit(ask.limit), size)
        newest = await tx.scalar(select(func.max(t.journal.c.version)).where(mine))
    return api.JournalPage.model_validate({"events": [row["body"] for row in found], "version": newest or 0})


# --- plans and code


def plan_record(row: Mapping[Any, Any]) -> api.PlanRecord:
    steps = tuple(Step.model_validate(step) for step in row["steps"])
    fields = {**row, "steps": steps, "text": plan_text(row["goal"], steps, row["notes"])}
    return api.PlanRecord.model_validate(fields)


async def plan_versions(database: Database, session_id: str, size: int) -> api.PlanHistory:
    query = select(t.plans).where(t.plans.c.session_id == session_id).order_by(t.plans.c.number.desc())
    found = await _newest_first(database, query, size)
    return api.PlanHistory(plans=_latest([plan_record(row) for row in found], size))


async def get_plan(database: Database, ask: api.GetPlan) -> api.PlanRecord:
    """Raises StoreError (unknown). Without a version the newest that was not deleted."""
    query = select(t.plans).where(t.plans.c.session_id == ask.session_id).order_by(t.plans.c.number.desc())
    wanted = ~t.plans.c.deleted if ask.version is None else t.plans.c.version == ask.version
    found = await rows(database, query.where(wanted).limit(1))
    if not found:
        raise api.StoreError("unknown", "There is no such plan.")
    return plan_record(found[0])


async def list_plans(database: Database, ask: api.ListPlans) -> api.PlanPage:
    """Which plans they are is found by their keys, and counted at once: only those of the page are read whole."""
    newest = select(t.plans.c.session_id, func.max(t.plans.c.number).label("number")).group_by(t.plans.c.session_id)
    last = newest.subquery()
    keys = (
        select(t.plans.c.session_id, t.plans.c.number, func.count().over().label("total"))
        .join(last, and_(t.plans.c.session_id == last.c.session_id, t.plans.c.number == last.c.number))
        .where(~t.plans.c.deleted)
    )
    if ask.user is not None:
        keys = keys.where(t.plans.c.session_id.in_(seen_by(ask.user)))
    if ask.statuses:
        keys = keys.where(t.plans.c.status.in_(ask.statuses))
    if ask.kinds:
        keys = keys.where(t.plans.c.kind.in_(ask.kinds))
    order = (t.plans.c.at.desc(), t.plans.c.session_id)
    shown = keys.order_by(*order).limit(ask.limit).offset(ask.offset).subquery()
    of_page = and_(t.plans.c.session_id == shown.c.session_id, t.plans.c.number == shown.c.number)
    async with database.begin() as tx:
        query = select(t.plans, shown.c.total).join(shown, of_page).order_by(*order)
        found, whole = await rows_within(tx, query, ANSWER_BYTES)
        beyond = not found and ask.offset
        total = await tx.scalar(select(func.count()).select_from(keys.subquery())) if beyond else 0
    _within_answer(whole)
    plans = tuple(plan_record({name: value for name, value in row.items() if name != "total"}) for row in found)
    return api.PlanPage(plans=plans, total=found[0]["total"] if found else total or 0)


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


# --- figures


async def usage_totals(database: Database, ask: api.UsageTotals) -> api.UsageReport:
    """By model and role. A user's own sessions only: what was shared with them is not their bill."""
    u = t.usage.c
    sums = (u.prompt_tokens, u.cached_tokens, u.completion_tokens, u.cost, u.latency)
    query = select(
        u.model, u.role, func.count().label("calls"), *(func.sum(column).label(column.name) for column in sums)
    )
    if ask.session_id is not None:
        query = query.where(u.session_id == ask.session_id)
    if ask.user is not None:
        query = query.join(t.sessions, t.sessions.c.id == u.session_id).where(t.sessions.c.owner == ask.user)
    found = await rows(database, query.group_by(u.model, u.role).order_by(u.model, u.role))
    return api.UsageReport(rows=tuple(api.UsageRow.model_validate(dict(row)) for row in found))


async def health(database: Database) -> api.HealthReport:
    async with database.begin() as tx:
        total = await tx.scalar(select(func.count()).select_from(t.sessions).where(t.sessions.c.version > 0))
    waiting = await upgrades.count(database)
    kind = "sqlite" if database.is_sqlite else "postgresql"
    return api.HealthReport(database=kind, sessions=total or 0, waiting_for_upgrade=waiting)
