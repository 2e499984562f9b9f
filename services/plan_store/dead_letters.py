"""Messages that were put aside: parked ones and dead letters, and those of them that a person has put away."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, func, literal, select

from services.plan_store import tables as t
from services.plan_store.database import Database, put
from services.plan_store.queries import page
from shared import store_api as api
from shared.bus.topology import SESSIONS

PARKED = ""  # in place of the consumer: no consumer gave it up
GONE = t.put_away.c
WHO = (GONE.by.label("dismissed_by"), GONE.at.label("dismissed_at"))


async def list_dead(database: Database, ask: api.ListDead) -> api.DeadPage:
    """Newest first."""
    p, d = t.parked_messages.c, t.dead_letters.c
    wanted = GONE.stream.is_not(None) if ask.dismissed else GONE.stream.is_(None)
    parked, parked_total = await page(database, _parked().where(wanted), (p.position.desc(),), ask.limit, ask.offset)
    order = (d.at.desc(), d.stream, d.consumer, d.stream_seq)
    dead, dead_total = await page(database, _letters().where(wanted), order, ask.limit, ask.offset)
    return api.DeadPage(
        parked=tuple(api.ParkedRecord(**row) for row in parked),
        parked_total=parked_total,
        dead=tuple(api.DeadRecord(**row) for row in dead),
        dead_total=dead_total,
    )


async def dismiss(database: Database, ask: api.DismissDead) -> api.DismissedDead:
    """Raises StoreError (unknown) where nothing is listed of this message."""
    p, d = t.parked_messages.c, t.dead_letters.c
    letters = _letters().where(GONE.stream.is_(None), d.stream == ask.stream, d.stream_seq == ask.stream_seq)
    parked = _parked().where(GONE.stream.is_(None), p.position == ask.stream_seq)
    async with database.begin() as tx:
        consumers = [row.consumer for row in await tx.execute(letters)]
        if ask.stream == SESSIONS and (await tx.execute(parked)).first():
            consumers.append(PARKED)
        if not consumers:
            raise api.StoreError("unknown", f"Nothing is listed of {ask.stream}#{ask.stream_seq}.")
        here = {"stream": ask.stream, "stream_seq": ask.stream_seq, "by": ask.user, "at": datetime.now(UTC)}
        await put(tx, t.put_away, [here | {"consumer": consumer} for consumer in consumers])
    return api.DismissedDead(stream=ask.stream, stream_seq=ask.stream_seq, entries=len(consumers))


def listed_letters() -> Select[Any]:
    """Consumers of the dead letters that nobody has put away, each with how many."""
    query = select(t.dead_letters.c.consumer, func.count()).select_from(t.dead_letters.outerjoin(t.put_away, _letter()))
    return query.where(GONE.stream.is_(None)).group_by(t.dead_letters.c.consumer)


def listed_parked() -> Select[Any]:
    """How many parked messages nobody has put away."""
    joined = t.parked_messages.outerjoin(t.put_away, _message())
    return select(func.count()).select_from(joined).where(GONE.stream.is_(None))


def _letters() -> Select[Any]:
    d = t.dead_letters
    phase = func.coalesce(t.sessions.c.phase, "").label("phase")
    joined = d.outerjoin(t.put_away, _letter()).outerjoin(t.sessions, t.sessions.c.id == d.c.session_id)
    return select(*d.c, phase, *WHO).select_from(joined)


def _parked() -> Select[Any]:
    return select(*t.parked_messages.c, *WHO).select_from(t.parked_messages.outerjoin(t.put_away, _message()))


def _letter() -> ColumnElement[bool]:
    d = t.dead_letters.c
    return and_(GONE.stream == d.stream, GONE.consumer == d.consumer, GONE.stream_seq == d.stream_seq)


def _message() -> ColumnElement[bool]:
    here = (GONE.stream == literal(SESSIONS), GONE.consumer == literal(PARKED))
    return and_(*here, GONE.stream_seq == t.parked_messages.c.position)
