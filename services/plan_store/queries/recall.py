"""Queries for the outcomes of earlier requests, by words in either database's full-text index."""

from collections.abc import Collection
from datetime import UTC, datetime
from functools import cache
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Integer,
    RowMapping,
    Select,
    Text,
    bindparam,
    column,
    exists,
    func,
    literal,
    literal_column,
    or_,
    select,
    table,
)

from services.plan_store import tables as t
from services.plan_store.database import ProjectionDatabase, upsert
from services.plan_store.queries.sessions import page, rows
from shared import store_api as api
from shared.text import query_tokens

INDEX = table("memories_fts", column("rowid"))  # SQLite's
NEWEST = (t.memories.c.at.desc(), t.memories.c.position.desc())
ENGLISH: ColumnElement[str] = literal_column("'english'")
VECTOR: ColumnElement[Any] = literal_column("memories.search_vector")  # PostgreSQL's


def _rounds_query() -> Select[Any]:
    """A query for the number of memories that the session had by each of those at `positions`."""
    m, before = t.memories.c, t.memories.alias()
    earlier = before.c.session_id == m.session_id, before.c.position <= m.position
    number = select(func.count()).select_from(before).where(*earlier).correlate(t.memories).scalar_subquery()
    return select(m.position, number.label("round")).where(m.position.in_(bindparam("positions", expanding=True)))


ROUNDS = _rounds_query()


class _Search(NamedTuple):
    """A full-text query and the score it orders by."""

    query: Select[Any]
    score: ColumnElement[Any]


async def recall(database: ProjectionDatabase, ask: api.RecallMemories) -> api.Memories:
    scope = {"user": ask.user, "exclude": ask.exclude or "", "subject": ask.subject}
    items: list[RowMapping] = []
    if words := query_tokens(ask.query):
        expression = _match_expression(database, words, every=False)
        items += await rows(database, _best_matches(database.is_sqlite), **scope, words=expression, most=ask.limit)
    if ask.recent:
        items += await rows(database, RECENT, **scope, most=ask.recent)
    by_position: dict[int, RowMapping] = {}
    for row in items:
        by_position.setdefault(row["position"], row)
    return api.Memories(items=await _records(database, by_position.values()))


async def list_memories(database: ProjectionDatabase, ask: api.ListMemories) -> api.MemoryPage:
    if words := query_tokens(ask.query):
        expression = _match_expression(database, words, every=True)
        query = _full_text_search(database.is_sqlite).query.params(user=ask.user, words=expression)
    else:
        query = _memories_query(literal(0.0)).params(user=ask.user)
    memories, total = await page(database, query, NEWEST, ask.limit, ask.offset)
    return api.MemoryPage(items=await _records(database, memories), total=total)


async def forget(database: ProjectionDatabase, ask: api.ForgetMemory) -> api.Forgotten:
    """Delete a memory. Idempotent. Raises StoreError (unknown) if the user has no such memory."""
    m = t.memories.c
    matches = select(m.version).where(m.session_id == ask.session_id, m.version == ask.version, m.owner == ask.user)
    async with database.begin() as tx:
        if (await tx.execute(matches.where(m.outcome != ""))).first() is None:
            raise api.StoreError("unknown", "You have no such memory.")
        row = {"session_id": ask.session_id, "version": ask.version, "at": datetime.now(UTC)}
        await upsert(tx, t.forgotten, [row])
    return api.Forgotten(session_id=ask.session_id, version=ask.version)


def _match_expression(database: ProjectionDatabase, words: list[str], *, every: bool) -> str:
    """The search expression. A quoted word of letters and digits has no special meaning in either query language."""
    if database.is_sqlite:
        return (" AND " if every else " OR ").join(f'"{word}"' for word in words)
    return (" & " if every else " | ").join(f"'{word}'" for word in words)


def _full_text_search(is_sqlite: bool) -> _Search:
    """A query for the memories of `user` that match `words`."""
    terms = bindparam("words", type_=Text())
    if is_sqlite:
        score: ColumnElement[Any] = -func.bm25(literal_column("memories_fts"))
        matches = literal_column("memories_fts").op("MATCH")(terms)
        query = _memories_query(score).join(INDEX, INDEX.c.rowid == t.memories.c.position).where(matches)
        return _Search(query, score)
    expression = func.to_tsquery(ENGLISH, terms)
    score = func.ts_rank(VECTOR, expression)
    return _Search(_memories_query(score).where(VECTOR.op("@@")(expression)), score)


def _memories_query(score: ColumnElement[Any]) -> Select[Any]:
    m = t.memories.c
    columns = (m.position, m.session_id, m.version, m.request, m.outcome, m.lesson, m.at)
    f = t.forgotten.c
    deleted = exists().where(f.session_id == m.session_id, f.version == m.version)
    return select(*columns, score.label("score")).where(m.owner == bindparam("user"), m.outcome != "", ~deleted)


def _for_another_session(query: Select[Any], *order: ColumnElement[Any]) -> Select[Any]:
    """The first `most` rows that a session about `subject` may recall, without those of the session `exclude`."""
    m = t.memories.c
    others = query.where(m.session_id != bindparam("exclude"), or_(m.subject == "", m.subject == bindparam("subject")))
    return others.order_by(*order).limit(bindparam("most", type_=Integer()))


@cache
def _best_matches(is_sqlite: bool) -> Select[Any]:
    """The best matches. The query is cached: composing it takes longer than running it."""
    query, score = _full_text_search(is_sqlite)
    return _for_another_session(query, score.desc(), t.memories.c.position.desc())


RECENT = _for_another_session(_memories_query(literal(0.0)), *NEWEST)


async def _records(database: ProjectionDatabase, memories: Collection[RowMapping]) -> tuple[api.MemoryRecord, ...]:
    """The memories with their rounds. Only the rows of an answer are counted, as counting takes quadratic time."""
    counted = await rows(database, ROUNDS, positions=[row["position"] for row in memories]) if memories else ()
    rounds = {row["position"]: row["round"] for row in counted}
    names = api.MemoryRecord.model_fields.keys() - {"id", "round"}
    return tuple(
        api.MemoryRecord(
            id=f"{row['session_id']}.{row['version']}",
            round=rounds.get(row["position"], 0),
            **{name: row[name] for name in names},
        )
        for row in memories
    )
