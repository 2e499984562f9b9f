"""Questions about what earlier requests came to: by their words, in either database's full-text index."""

from collections.abc import Collection
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    RowMapping,
    Select,
    bindparam,
    column,
    func,
    literal,
    literal_column,
    select,
    table,
)

from services.plan_store import tables as t
from services.plan_store.database import Database
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
    others = t.memories.c.session_id != (ask.exclude or "")
    items: list[RowMapping] = []
    if words := asked(ask.query):
        found = _by_words(database, words, ask.user, every=False)
        best = found.query.where(others).order_by(found.score.desc(), t.memories.c.position.desc())
        items += await rows(database, best.limit(ask.limit))
    if ask.recent:
        newest = _all(ask.user).query.where(others).order_by(*NEWEST)
        items += await rows(database, newest.limit(ask.recent))
    once: dict[int, RowMapping] = {}
    for row in items:
        once.setdefault(row["position"], row)
    return api.Memories(items=await _records(database, once.values()))


async def list_memories(database: Database, ask: api.ListMemories) -> api.MemoryPage:
    words = asked(ask.query)
    found = _by_words(database, words, ask.user, every=True) if words else _all(ask.user)
    shown, total = await page(database, found.query, NEWEST, ask.limit, ask.offset)
    return api.MemoryPage(items=await _records(database, shown), total=total)


def _all(user: str) -> _Found:
    """What this user's own sessions came to, so far."""
    return _Found(_remembered(user, literal(0.0)), literal(0.0))


def _by_words(database: Database, words: list[str], user: str, *, every: bool) -> _Found:
    """Words hold letters and digits only: in quotes they are words in both query languages, and nothing else."""
    if database.is_sqlite:
        score: ColumnElement[Any] = -func.bm25(literal_column("memories_fts"))
        here = literal_column("memories_fts").op("MATCH")(
            (" AND " if every else " OR ").join(f'"{word}"' for word in words)
        )
        query = _remembered(user, score).join(INDEX, INDEX.c.rowid == t.memories.c.position).where(here)
        return _Found(query, score)
    wanted = func.to_tsquery(ENGLISH, (" & " if every else " | ").join(f"'{word}'" for word in words))
    score = func.ts_rank(VECTOR, wanted)
    return _Found(_remembered(user, score).where(VECTOR.op("@@")(wanted)), score)


def _remembered(user: str, score: ColumnElement[Any]) -> Select[Any]:
    m = t.memories.c
    columns = (m.position, m.session_id, m.version, m.request, m.outcome, m.lesson, m.at)
    return select(*columns, score.label("score")).where(m.owner == user, m.outcome != "")


async def _records(database: Database, found: Collection[RowMapping]) -> tuple[api.MemoryRecord, ...]:
    """Each with its round. A round is counted for the rows of an answer only: for all that match it takes quadratic
    time."""
    counted = await rows(database, ROUNDS, positions=[row["position"] for row in found]) if found else ()
    rounds = {row["position"]: row["round"] for row in counted}
    names = api.MemoryRecord.model_fields.keys() - {"round"}
    return tuple(
        api.MemoryRecord.model_validate({name: row[name] for name in names} | {"round": rounds.get(row["position"], 0)})
        for row in found
    )
