"""Questions about what earlier requests came to: by their words, in either database's full-text index."""

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
    select,
    table,
)

from services.plan_store import tables as t
from services.plan_store.database import Database, put
from services.plan_store.queries import page, rows
from services.plan_store.words import asked
from shared import store_api as api

INDEX = table("memories_fts", column("rowid"))  # SQLite's
NEWEST = (t.memories.c.at.desc(), t.memories.c.position.desc())
ENGLISH: ColumnElement[str] = literal_column("'english'")
VECTOR: ColumnElement[Any] = literal_column("memories.search_vector")  # PostgreSQL's


def _rounds() -> Select[Any]:
    """Of the memories at `positions`, how many their sessions had by then."""
    m, before = t.memories.c, t.memories.alias()
    earlier = before.c.session_id == m.session_id, before.c.position <= m.position
    number = select(func.count()).select_from(before).where(*earlier).correlate(t.memories).scalar_subquery()
    return select(m.position, number.label("round")).where(m.position.in_(bindparam("positions", expanding=True)))


ROUNDS = _rounds()


class _Found(NamedTuple):
    """How well a row fits, and which rows do."""

    query: Select[Any]
    score: ColumnElement[Any]


async def recall(database: Database, ask: api.RecallMemories) -> api.Memories:
    mine = {"user": ask.user, "exclude": ask.exclude or ""}
    items: list[RowMapping] = []
    if words := asked(ask.query):
        wanted = _asking(database, words, every=False)
        items += await rows(database, _best(database.is_sqlite), **mine, words=wanted, most=ask.limit)
    if ask.recent:
        items += await rows(database, RECENT, **mine, most=ask.recent)
    once: dict[int, RowMapping] = {}
    for row in items:
        once.setdefault(row["position"], row)
    return api.Memories(items=await _records(database, once.values()))


async def list_memories(database: Database, ask: api.ListMemories) -> api.MemoryPage:
    if words := asked(ask.query):
        wanted = _asking(database, words, every=True)
        query = _by_words(database.is_sqlite).query.params(user=ask.user, words=wanted)
    else:
        query = _remembered(literal(0.0)).params(user=ask.user)
    shown, total = await page(database, query, NEWEST, ask.limit, ask.offset)
    return api.MemoryPage(items=await _records(database, shown), total=total)


async def forget(database: Database, ask: api.ForgetMemory) -> api.Forgotten:
    """May be done twice. Raises StoreError (unknown) where this user has no such memory."""
    m = t.memories.c
    here = select(m.version).where(m.session_id == ask.session_id, m.version == ask.version, m.owner == ask.user)
    async with database.begin() as tx:
        if (await tx.execute(here.where(m.outcome != ""))).first() is None:
            raise api.StoreError("unknown", "You have no such memory.")
        gone = {"session_id": ask.session_id, "version": ask.version, "at": datetime.now(UTC)}
        await put(tx, t.forgotten, [gone])
    return api.Forgotten(session_id=ask.session_id, version=ask.version)


def _asking(database: Database, words: list[str], *, every: bool) -> str:
    """Words hold letters and digits only: in quotes they are words in both query languages, and nothing else."""
    if database.is_sqlite:
        return (" AND " if every else " OR ").join(f'"{word}"' for word in words)
    return (" & " if every else " | ").join(f"'{word}'" for word in words)


def _by_words(is_sqlite: bool) -> _Found:
    """What this `user`'s own sessions came to, so far, where its `words` fit."""
    words = bindparam("words", type_=Text())
    if is_sqlite:
        score: ColumnElement[Any] = -func.bm25(literal_column("memories_fts"))
        here = literal_column("memories_fts").op("MATCH")(words)
        query = _remembered(score).join(INDEX, INDEX.c.rowid == t.memories.c.position).where(here)
        return _Found(query, score)
    wanted = func.to_tsquery(ENGLISH, words)
    score = func.ts_rank(VECTOR, wanted)
    return _Found(_remembered(score).where(VECTOR.op("@@")(wanted)), score)


def _remembered(score: ColumnElement[Any]) -> Select[Any]:
    m = t.memories.c
    columns = (m.position, m.session_id, m.version, m.request, m.outcome, m.lesson, m.at)
    f = t.forgotten.c
    deleted = exists().where(f.session_id == m.session_id, f.version == m.version)
    return select(*columns, score.label("score")).where(m.owner == bindparam("user"), m.outcome != "", ~deleted)


def _others(query: Select[Any], *order: ColumnElement[Any]) -> Select[Any]:
    """But for one session's; the first `most`."""
    others = query.where(t.memories.c.session_id != bindparam("exclude"))
    return others.order_by(*order).limit(bindparam("most", type_=Integer()))


@cache
def _best(is_sqlite: bool) -> Select[Any]:
    """Composed once: that takes longer than to ask."""
    query, score = _by_words(is_sqlite)
    return _others(query, score.desc(), t.memories.c.position.desc())


RECENT = _others(_remembered(literal(0.0)), *NEWEST)


async def _records(database: Database, found: Collection[RowMapping]) -> tuple[api.MemoryRecord, ...]:
    """Each with its round. A round is counted for the rows of an answer only: for all that match it takes quadratic
    time."""
    counted = await rows(database, ROUNDS, positions=[row["position"] for row in found]) if found else ()
    rounds = {row["position"]: row["round"] for row in counted}
    names = api.MemoryRecord.model_fields.keys() - {"id", "round"}
    return tuple(
        api.MemoryRecord(
            id=f"{row['session_id']}.{row['version']}",
            round=rounds.get(row["position"], 0),
            **{name: row[name] for name in names},
        )
        for row in found
    )
