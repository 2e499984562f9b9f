"""Questions that are answered from the rows alone."""

from typing import Any

from pydantic_core import to_json
from sqlalchemy import CTE, ColumnElement, CompoundSelect, RowMapping, Select, and_, func, or_, select, union_all
from sqlalchemy.ext.asyncio import AsyncConnection

from services.plan_store import tables as t
from services.plan_store import upgrades
from services.plan_store.database import Database
from shared import store_api as api

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
    within_answer(whole)
    return found, total or 0


def within_answer(whole: bool) -> None:
    """Raises StoreError (too_large) for rows that did not fit."""
    if not whole:
        raise api.StoreError("too_large", f"These rows have more than {ANSWER_BYTES} bytes: ask for fewer.")


def seen_by(user: str | None, query: Select[Any]) -> Select[Any] | CompoundSelect[Any]:
    """Of a query for sessions: a user's own and those that were shared with them, each once; None: all.

    Two queries, as no index finds what is the one or the other.
    """
    if user is None:
        return query
    shared = and_(t.shares.c.session_id == t.sessions.c.id, t.shares.c.user == user, t.shares.c.role.is_not(None))
    others = query.join(t.shares, shared).where(t.sessions.c.owner != user)
    return union_all(query.where(t.sessions.c.owner == user), others)


def once(query: Select[Any] | CompoundSelect[Any]) -> CTE:
    """The rows of a query, found once however often they are read."""
    return query.cte("found").prefix_with("MATERIALIZED")


def matching(text: ColumnElement[str], query: str) -> list[ColumnElement[bool]]:
    """Every word, anywhere in a case-folded text, whatever its case; `%`, `_` and quotes are ordinary characters."""
    words = query.replace("\x00", "").casefold().split()[:MAX_WORDS]
    return [text.contains(word, autoescape=True) for word in words]


async def list_sessions(database: Database, ask: api.ListSessions) -> api.SessionPage:
    """Each row's words are looked at once, for the page and for how many there are in all."""
    row = t.sessions.c
    wanted = [row.version > 0, *matching(row.search_text, ask.query)]
    wanted += [row.state.in_(ask.states)] if ask.states else []
    if ask.phases:
        in_phase = row.phase.in_(ask.phases)
        wanted.append(or_(in_phase, row.unfinished) if api.UNFINISHED in ask.phases else in_phase)
    seen = once(seen_by(ask.user, select(row.id, row.updated_at).where(*wanted)))
    count = select(func.count()).select_from(seen)
    page = (
        select(seen.c.id).order_by(seen.c.updated_at.desc(), seen.c.id).limit(ask.limit).offset(ask.offset).subquery()
    )
    query = select(*SUMMARY, count.scalar_subquery().label("total")).join(page, row.id == page.c.id)
    async with database.begin() as tx:
        found, whole = await rows_within(tx, query.order_by(row.updated_at.desc(), row.id), ANSWER_BYTES)
        total = found[0]["total"] if found else await tx.scalar(count) if ask.offset else 0
    within_answer(whole)
    sessions = tuple(api.SessionSummary.model_validate(without_total(one)) for one in found)
    return api.SessionPage(sessions=sessions, total=total or 0)


def without_total(row: RowMapping) -> dict[str, Any]:
    """A row of a page, without the column that counts all rows there are."""
    return {name: value for name, value in row.items() if name != "total"}


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
