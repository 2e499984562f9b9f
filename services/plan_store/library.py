"""Questions to the library: accepted answers, those that are like a request, and the nodes that planners miss.

All of a user's own sessions only: what was shared with them is its owner's.
"""

from collections.abc import Collection
from typing import Any

from sqlalchemy import RowMapping, Select, bindparam, func, select

from services.plan_store import tables as t
from services.plan_store.database import Database
from services.plan_store.queries import matching, page, rows
from services.plan_store.words import asked
from shared import store_api as api

COMPARED = 500  # the newest entries, for likeness
NEWEST = t.library.c.position.desc()


def _rounds() -> Select[Any]:
    """Of the entries at `positions`, how many requests had begun by then."""
    j, entry = t.journal.c, t.library.c
    earlier = (j.session_id == entry.session_id, j.version <= entry.version, j.begins_round)
    number = select(func.count()).select_from(t.journal).where(*earlier).correlate(t.library).scalar_subquery()
    wanted = entry.position.in_(bindparam("positions", expanding=True))
    return select(entry.position, number.label("round")).where(wanted)


ROUNDS = _rounds()


async def list_library(database: Database, ask: api.ListLibrary) -> api.LibraryPage:
    query = _entries(ask.user, ask.saved).where(*matching(t.library.c.search_text, ask.query))
    found, total = await page(database, query, (NEWEST,), ask.limit, ask.offset)
    return api.LibraryPage(items=await _items(database, found), total=total)


async def similar(database: Database, ask: api.SimilarEntries) -> api.LibraryPage:
    """By how many of the question's words are an entry's; `total` counts all that share one."""
    wanted = set(asked(ask.query))
    newest = _mine(select(t.library.c.position, t.library.c.search_words), ask.user, saved=ask.saved or None)
    if ask.workflow:
        newest = newest.where(t.library.c.workflow == ask.workflow)
    found = await rows(database, newest.order_by(NEWEST).limit(COMPARED))
    shared = {row["position"]: len(wanted.intersection(row["search_words"].split())) for row in found}
    ranked = sorted((at for at, words in shared.items() if words), key=lambda at: (shared[at], at), reverse=True)
    best = ranked[: ask.limit]
    entries = await rows(database, _entries(ask.user).where(t.library.c.position.in_(best))) if best else []
    items = sorted(entries, key=lambda row: best.index(row["position"]))
    return api.LibraryPage(items=await _items(database, items), total=len(ranked))


async def list_proposals(database: Database, ask: api.ListProposals) -> api.ProposalPage:
    p = t.proposals.c
    columns = (p.reason.label("why") if name == "why" else p[name] for name in api.Proposal.model_fields)
    query = select(*columns).join(t.sessions, t.sessions.c.id == p.session_id).where(t.sessions.c.owner == ask.user)
    order = (p.at.desc(), p.session_id, p.version.desc(), p.flow, p.name)
    found, total = await page(database, query, order, ask.limit, ask.offset)
    return api.ProposalPage(items=tuple(api.Proposal(**row) for row in found), total=total)


def _mine(query: Select[Any], user: str, saved: bool | None) -> Select[Any]:
    query = query.join(t.sessions, t.sessions.c.id == t.library.c.session_id).where(t.sessions.c.owner == user)
    return query if saved is None else query.where(t.library.c.saved == saved)


def _entries(user: str, saved: bool | None = None) -> Select[Any]:
    return _mine(select(t.library), user, saved)


async def _items(database: Database, found: Collection[RowMapping]) -> tuple[api.LibraryEntry, ...]:
    """Each with its round: how many requests had begun by then; none, where a fork's first answer is its parent's.

    A round is counted for the rows of an answer only: for all that match it takes quadratic time.
    """
    counted = await rows(database, ROUNDS, positions=[row["position"] for row in found]) if found else ()
    rounds = {row["position"]: row["round"] for row in counted}
    return tuple(_entry(row, rounds.get(row["position"], 0)) for row in found)


def _entry(row: RowMapping, number: int) -> api.LibraryEntry:
    """Whose answer is not accepted any more has no row."""
    columns = {name: value for name, value in row.items() if name in api.LibraryEntry.model_fields}
    return api.LibraryEntry.model_validate(columns | {"round": number, "accepted": True})
