"""Quarantined messages and dead letters, and which of them a user has dismissed."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, func, literal, select

from services.plan_store import tables as t
from services.plan_store.database import ProjectionDatabase, upsert
from services.plan_store.queries.sessions import page
from shared import store_api as api
from shared.bus.topology import SESSIONS

PARKED = ""  # in place of a consumer: the projection quarantined the message
PUT_AWAY = t.put_away.c
DISMISSAL_COLUMNS = (PUT_AWAY.by.label("dismissed_by"), PUT_AWAY.at.label("dismissed_at"))


async def list_dead(database: ProjectionDatabase, ask: api.ListDead) -> api.DeadPage:
    """Newest first."""
    p, d = t.parked_messages.c, t.dead_letters.c
    listed = PUT_AWAY.stream.is_not(None) if ask.dismissed else PUT_AWAY.stream.is_(None)
    parked, parked_total = await page(
        database, _parked_query().where(listed), (p.position.desc(),), ask.limit, ask.offset
    )
    order = (d.at.desc(), d.stream, d.consumer, d.stream_seq)
    dead, dead_total = await page(database, _dead_letters_query().where(listed), order, ask.limit, ask.offset)
    return api.DeadPage(
        parked=tuple(api.ParkedRecord(**row) for row in parked),
        parked_total=parked_total,
        dead=tuple(api.DeadRecord(**row) for row in dead),
        dead_total=dead_total,
    )


async def dismiss(database: ProjectionDatabase, ask: api.DismissDead) -> api.DismissedDead:
    """Dismiss all entries of a message. Idempotent. Raises StoreError (unknown) if there are none."""
    p, d = t.parked_messages.c, t.dead_letters.c
    letters = _dead_letters_query().where(
        PUT_AWAY.stream.is_(None), d.stream == ask.stream, d.stream_seq == ask.stream_seq
    )
    parked = _parked_query().where(PUT_AWAY.stream.is_(None), p.position == ask.stream_seq)
    async with database.begin() as tx:
        consumers = [row.consumer for row in await tx.execute(letters)]
        if ask.stream == SESSIONS and (await tx.execute(parked)).first():
            consumers.append(PARKED)
        if not consumers:
            dismissed = select(func.count()).where(PUT_AWAY.stream == ask.stream, PUT_AWAY.stream_seq == ask.stream_seq)
            if entries := await tx.scalar(dismissed):
                return api.DismissedDead(stream=ask.stream, stream_seq=ask.stream_seq, entries=entries)
            raise api.StoreError("unknown", f"Nothing is listed of {ask.stream}#{ask.stream_seq}.")
        row = {"stream": ask.stream, "stream_seq": ask.stream_seq, "by": ask.user, "at": datetime.now(UTC)}
        await upsert(tx, t.put_away, [row | {"consumer": consumer} for consumer in consumers])
    return api.DismissedDead(stream=ask.stream, stream_seq=ask.stream_seq, entries=len(consumers))


def dead_letter_counts() -> Select[Any]:
    """A query for the number of undismissed dead letters by consumer."""
    query = select(t.dead_letters.c.consumer, func.count()).select_from(
        t.dead_letters.outerjoin(t.put_away, _dismissed_letter())
    )
    return query.where(PUT_AWAY.stream.is_(None)).group_by(t.dead_letters.c.consumer)


def parked_count() -> Select[Any]:
    """A query for the number of undismissed quarantined messages."""
    joined = t.parked_messages.outerjoin(t.put_away, _dismissed_message())
    return select(func.count()).select_from(joined).where(PUT_AWAY.stream.is_(None))


def _dead_letters_query() -> Select[Any]:
    d = t.dead_letters
    phase = func.coalesce(t.sessions.c.phase, "").label("phase")
    joined = d.outerjoin(t.put_away, _dismissed_letter()).outerjoin(t.sessions, t.sessions.c.id == d.c.session_id)
    return select(*d.c, phase, *DISMISSAL_COLUMNS).select_from(joined)


def _parked_query() -> Select[Any]:
    return select(*t.parked_messages.c, *DISMISSAL_COLUMNS).select_from(
        t.parked_messages.outerjoin(t.put_away, _dismissed_message())
    )


def _dismissed_letter() -> ColumnElement[bool]:
    d = t.dead_letters.c
    return and_(PUT_AWAY.stream == d.stream, PUT_AWAY.consumer == d.consumer, PUT_AWAY.stream_seq == d.stream_seq)


def _dismissed_message() -> ColumnElement[bool]:
    row = (PUT_AWAY.stream == literal(SESSIONS), PUT_AWAY.consumer == literal(PARKED))
    return and_(*row, PUT_AWAY.stream_seq == t.parked_messages.c.position)
