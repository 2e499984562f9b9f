"""Queries to the library: accepted answers, those similar to a request, and nodes that planners proposed.

They cover a user's own sessions only, not those that were shared with the user.
"""

from collections.abc import Collection
from typing import Any

from sqlalchemy import RowMapping, Select, bindparam, func, select

from services.plan_store import tables as t
from services.plan_store.database import ProjectionDatabase
from services.plan_store.queries.sessions import contains_words, page, rows
from shared import store_api as api
from shared.text import query_tokens

MAX_COMPARED = 500  # newest entries that are compared
NEWEST = t.library.c.position.desc()


def _rounds_query() -> Select[Any]:
    """A query for the number of requests that had begun by each of the entries at `positions`."""
    j, entry = t.journal.c, t.library.c
    earlier = (j.session_id == entry.session_id, j.version <= entry.version, j.begins_round)
    number = select(func.count()).select_from(t.journal).where(*earlier).correlate(t.library).scalar_subquery()
    tokens = entry.position.in_(bindparam("positions", expanding=True))
    return select(entry.position, number.label("round")).where(tokens)


ROUNDS = _rounds_query()


async def list_library(database: ProjectionDatabase, ask: api.ListLibrary) -> api.LibraryPage:
    query = _entries(ask.user, ask.saved).where(*contains_words(t.library.c.search_text, ask.query))
    entries, total = await page(database, query, (NEWEST,), ask.limit, ask.offset)
    return api.LibraryPage(items=await _items(database, entries), total=total)


async def similar(database: ProjectionDatabase, ask: api.SimilarEntries) -> api.SimilarPage:
    """Entries ordered by how many words of the query they contain; `total` counts all with at least one."""
    tokens = set(query_tokens(ask.query))
    candidates = _of_user(select(t.library.c.position, t.library.c.search_words), ask.user, saved=ask.saved or None)
    candidates = candidates.where(t.library.c.subject.in_(("", ask.subject)))
    if ask.workflow:
        candidates = candidates.where(t.library.c.workflow == ask.workflow)
    compared = await rows(database, candidates.order_by(NEWEST).limit(MAX_COMPARED))
    shared = {row["position"]: len(tokens.intersection(row["search_words"].split())) for row in compared}
    ranked = sorted((at for at, words in shared.items() if words), key=lambda at: (shared[at], at), reverse=True)
    best = ranked[: ask.limit]
    entries = await rows(database, _entries(ask.user).where(t.library.c.position.in_(best))) if best else []
    items = sorted(entries, key=lambda row: best.index(row["position"]))
    found = await _items(database, items)
    return api.SimilarPage(items=found, total=len(ranked), compared=len(compared))


async def list_proposals(database: ProjectionDatabase, ask: api.ListProposals) -> api.ProposalPage:
    p = t.proposals.c
    columns = (p.reason.label("why") if name == "why" else p[name] for name in api.Proposal.model_fields)
    query = select(*columns).join(t.sessions, t.sessions.c.id == p.session_id).where(t.sessions.c.owner == ask.user)
    order = (p.at.desc(), p.session_id, p.version.desc(), p.flow, p.name)
    entries, total = await page(database, query, order, ask.limit, ask.offset)
    return api.ProposalPage(items=tuple(api.Proposal(**row) for row in entries), total=total)


def _of_user(query: Select[Any], user: str, saved: bool | None) -> Select[Any]:
    query = query.join(t.sessions, t.sessions.c.id == t.library.c.session_id).where(t.sessions.c.owner == user)
    return query if saved is None else query.where(t.library.c.saved == saved)


def _entries(user: str, saved: bool | None = None) -> Select[Any]:
    return _of_user(select(t.library), user, saved)


async def _items(database: ProjectionDatabase, entries: Collection[RowMapping]) -> tuple[api.LibraryEntry, ...]:
    """The entries with their rounds, which count the session's requests so far (0 for an answer from before a fork).

    Only the rows of an answer are counted, as counting takes quadratic time.
    """
    counted = await rows(database, ROUNDS, positions=[row["position"] for row in entries]) if entries else ()
    rounds = {row["position"]: row["round"] for row in counted}
    return tuple(_entry(row, rounds.get(row["position"], 0)) for row in entries)


def _entry(row: RowMapping, number: int) -> api.LibraryEntry:
    """An entry for a row. Every row is accepted: a withdrawn answer has none."""
    columns = {name: value for name, value in row.items() if name in api.LibraryEntry.model_fields}
    return api.LibraryEntry.model_validate(columns | {"round": number, "accepted": True})
