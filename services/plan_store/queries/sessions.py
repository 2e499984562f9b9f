"""Queries that are answered from the rows alone."""

from typing import Any

from pydantic_core import to_json
from sqlalchemy import CTE, ColumnElement, CompoundSelect, RowMapping, Select, and_, func, or_, select, union_all
from sqlalchemy.ext.asyncio import AsyncConnection

from services.plan_store import tables as t
from services.plan_store.database import ProjectionDatabase
from services.plan_store.projection import unprojected
from shared import store_api as api

MAX_WORDS = 10
ANSWER_BYTES = 3_500_000  # of any answer, if the broker accepts that much
PAGE_BYTES = 1_000_000  # of a page of the journal
ROWS_AT_ONCE = 64  # rows fetched before their size is counted
SUMMARY_COLUMNS = tuple(
    t.sessions.c.parent_id.label("parent") if name == "parent" else t.sessions.c[name]
    for name in api.SessionSummary.model_fields
)


async def rows(database: ProjectionDatabase, query: Select[Any], **values: object) -> list[RowMapping]:
    async with database.begin() as tx:
        return list((await tx.execute(query, values)).mappings())


async def rows_within(tx: AsyncConnection, query: Select[Any], size: int) -> tuple[list[RowMapping], bool]:
    """As many rows as fit `size` bytes, but at least one, and whether these are all.

    Rows are streamed: one can have 256 KiB, and only a few of a thousand would fit an answer.
    """
    fitting: list[RowMapping] = []
    async with tx.stream(query.execution_options(max_row_buffer=ROWS_AT_ONCE)) as result:
        async for row in result.mappings():
            size -= _size(row)
            if size < 0 and fitting:
                return fitting, False
            fitting.append(row)
    return fitting, True


def _size(row: RowMapping) -> int:
    """The approximate number of bytes that the row adds to an answer."""
    return sum(len(value) if isinstance(value, str) else len(to_json(value)) for value in row.values())


async def page(
    database: ProjectionDatabase, query: Select[Any], order: tuple[ColumnElement[Any], ...], limit: int, offset: int
) -> tuple[list[RowMapping], int]:
    """One page of rows, and the total number of rows. Raises StoreError (too_large)."""
    async with database.begin() as tx:
        total = await tx.scalar(select(func.count()).select_from(query.subquery()))
        result, complete = await rows_within(tx, query.order_by(*order).limit(limit).offset(offset), ANSWER_BYTES)
    require_complete(complete)
    return result, total or 0


def require_complete(complete: bool) -> None:
    """Raises StoreError (too_large) unless all rows fitted."""
    if not complete:
        raise api.StoreError("too_large", f"These rows have more than {ANSWER_BYTES} bytes: ask for fewer.")


def visible_to(user: str | None, query: Select[Any]) -> Select[Any] | CompoundSelect[Any]:
    """Restrict a query for sessions to the user's own and those shared with the user, each once; None: all.

    A union of two queries, as no single index covers both conditions.
    """
    if user is None:
        return query
    shared = and_(t.shares.c.session_id == t.sessions.c.id, t.shares.c.user == user, t.shares.c.role.is_not(None))
    others = query.join(t.shares, shared).where(t.sessions.c.owner != user)
    return union_all(query.where(t.sessions.c.owner == user), others)


def materialized(query: Select[Any] | CompoundSelect[Any]) -> CTE:
    """A query as a CTE that is evaluated once, however often it is read."""
    return query.cte("found").prefix_with("MATERIALIZED")


def contains_words(text: ColumnElement[str], query: str) -> list[ColumnElement[bool]]:
    """Conditions that a case-folded text contains every word; `%`, `_` and quotes are ordinary characters."""
    words = query.replace("\x00", "").casefold().split()[:MAX_WORDS]
    return [text.contains(word, autoescape=True) for word in words]


async def list_sessions(database: ProjectionDatabase, ask: api.ListSessions) -> api.SessionPage:
    """One page of sessions. Each row's text is searched once, for both the page and the total."""
    row = t.sessions.c
    conditions = [row.version > 0, *contains_words(row.search_text, ask.query)]
    conditions += [row.state.in_(ask.states)] if ask.states else []
    if ask.phases:
        more = {api.UNFINISHED: row.unfinished, api.OFFER: row.state == api.OFFER}
        conditions.append(or_(row.phase.in_(ask.phases), *(more[name] for name in ask.phases if name in more)))
    visible = materialized(visible_to(ask.user, select(row.id, row.updated_at).where(*conditions)))
    count = select(func.count()).select_from(visible)
    page = (
        select(visible.c.id)
        .order_by(visible.c.updated_at.desc(), visible.c.id)
        .limit(ask.limit)
        .offset(ask.offset)
        .subquery()
    )
    query = select(*SUMMARY_COLUMNS, count.scalar_subquery().label("total")).join(page, row.id == page.c.id)
    async with database.begin() as tx:
        result, complete = await rows_within(tx, query.order_by(row.updated_at.desc(), row.id), ANSWER_BYTES)
        total = result[0]["total"] if result else await tx.scalar(count) if ask.offset else 0
    require_complete(complete)
    sessions = tuple(api.SessionSummary.model_validate(without_total(session)) for session in result)
    return api.SessionPage(sessions=sessions, total=total or 0)


def without_total(row: RowMapping) -> dict[str, Any]:
    """A row of a page without its column `total`."""
    return {name: value for name, value in row.items() if name != "total"}


async def get_session(database: ProjectionDatabase, ask: api.GetSession) -> api.SessionSummary:
    result = await rows(
        database, select(*SUMMARY_COLUMNS).where(t.sessions.c.id == ask.session_id, t.sessions.c.version > 0)
    )
    if not result:
        raise api.StoreError("unknown", "There is no such session.")
    return api.SessionSummary(**result[0])


async def read_journal(database: ProjectionDatabase, ask: api.ReadJournal, size: int = PAGE_BYTES) -> api.JournalPage:
    mine = t.journal.c.session_id == ask.session_id
    query = select(t.journal.c.body).where(mine, t.journal.c.version > ask.after).order_by(t.journal.c.version)
    async with database.begin() as tx:
        result, _ = await rows_within(tx, query.limit(ask.limit), size)
        newest = await tx.scalar(select(func.max(t.journal.c.version)).where(mine))
    return api.JournalPage.model_validate({"events": [row["body"] for row in result], "version": newest or 0})


# --- totals


async def usage_totals(database: ProjectionDatabase, ask: api.GetUsage) -> api.UsageReport:
    """Usage by model and role. Counts a user's own sessions only: sharing a session does not share its costs."""
    u = t.usage.c
    sums = (u.prompt_tokens, u.cached_tokens, u.completion_tokens, u.cost, u.latency)
    query = select(
        u.model, u.role, func.count().label("calls"), *(func.sum(column).label(column.name) for column in sums)
    )
    if ask.session_id is not None:
        query = query.where(u.session_id == ask.session_id)
    if ask.user is not None:
        query = query.join(t.sessions, t.sessions.c.id == u.session_id).where(t.sessions.c.owner == ask.user)
    result = await rows(database, query.group_by(u.model, u.role).order_by(u.model, u.role))
    return api.UsageReport(rows=tuple(api.UsageRow.model_validate(dict(row)) for row in result))


async def health(database: ProjectionDatabase) -> api.HealthReport:
    async with database.begin() as tx:
        total = await tx.scalar(select(func.count()).select_from(t.sessions).where(t.sessions.c.version > 0))
    waiting = await unprojected.count_waiting(database)
    kind = "sqlite" if database.is_sqlite else "postgresql"
    return api.HealthReport(database=kind, sessions=total or 0, waiting_for_upgrade=waiting)
