"""Templates: appended to their log, guarded by version, and read from rows that follow it.

The rows are brought up to date before they are read: nobody but plan_store writes the log, and there is little in it.
"""

import secrets
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import structlog
from sqlalchemy import RowMapping, Select, func, select

from services.plan_store.database import Database
from services.plan_store.queries import page, rows
from services.plan_store.template_rows import Event, apply, body_of, event_of, templates
from shared import store_api as api
from shared.domain.errors import Invalid
from shared.library_log import LARGEST, TEMPLATE_EVENT, LibraryLog, TemplateDeleted, TemplateSaved
from shared.log import Indeterminate, LogDown, VersionConflict
from shared.templates.schedules import check_schedule

MOST = 500  # templates of one user
TRIES = 5  # of an append that somebody overtook, or of which nobody knows what became
log = structlog.get_logger("plan_store")


class Templates:
    """Each is its owner's: to everybody else it is not there. Raises StoreError, LogDown, DatabaseDown."""

    def __init__(
        self, library: LibraryLog, database: Database, now: Callable[[], datetime] = lambda: datetime.now(UTC)
    ) -> None:
        self._library = library
        self._database = database
        self._now = now

    async def save(self, ask: api.SaveTemplate) -> api.TemplateRecord:
        """A new one, or the next version."""

        def saved(before: TemplateSaved | None, version: int) -> Event:
            if before is None and ask.expected:
                raise _missing()
            if before is None and full:
                raise api.StoreError("full", f"You have {MOST} templates: delete some first.")
            if before is not None and not ask.expected and before.template == ask.template:
                raise _Unchanged
            _as_expected(ask.expected, before.version if before else 0)
            kept = {"schedule": before.schedule, "seed": before.seed} if before else {"seed": secrets.token_hex(16)}
            told = {"template": ask.template, "fingerprints": ask.fingerprints}
            return TemplateSaved(**self._stamp(ask, version), **told, **kept)

        full = await self._is_full(ask.user)
        return await self._append(ask, saved)

    async def schedule(self, ask: api.ScheduleTemplate) -> api.TemplateRecord:
        """When it is run from now on."""
        if ask.schedule is not None:
            try:
                check_schedule(ask.schedule, self._now())
            except Invalid as error:
                raise api.StoreError("bad_request", str(error)) from error

        def scheduled(before: TemplateSaved | None, version: int) -> Event:
            if before is None:
                raise _missing()
            _as_expected(ask.expected, before.version)
            return before.model_copy(update={**self._stamp(ask, version), "schedule": ask.schedule})

        return await self._append(ask, scheduled)

    async def delete(self, ask: api.DeleteTemplate) -> api.TemplateGone:
        """It and all its versions; what was begun with it stays. Sessions of runs to come are not begun."""

        def deleted(before: TemplateSaved | None, version: int) -> Event:
            if before is None:
                raise _missing()
            _as_expected(ask.expected or before.version, before.version)
            return TemplateDeleted(**self._stamp(ask, version))

        await self._append(ask, deleted)
        return api.TemplateGone(template_id=ask.template_id)

    async def get(self, ask: api.OfTemplate) -> api.TemplateRecord:
        await self.catch_up()
        row = await self._row(ask.template_id)
        if row is None or row["owner"] != ask.user or row["body"] is None:
            raise _missing()
        return _record(row)

    async def list(self, ask: api.ListTemplates) -> api.TemplateRecords:
        await self.catch_up()
        order = (templates.c.at.desc(), templates.c.id)
        found, total = await page(self._database, _of(ask.user), order, ask.limit, ask.offset)
        return api.TemplateRecords(items=tuple(map(_record, found)), total=total)

    async def catch_up(self) -> None:
        """Bring the rows to the end of the log."""
        [newest] = await rows(self._database, select(func.max(templates.c.position).label("position")))
        after = newest["position"] or 0
        while found := await self._library.read(after=after):
            await self._database.work(lambda tx, raws=tuple(found): apply(tx, raws))  # type: ignore[misc]
            after = found[-1].position

    async def _append(
        self, ask: api.OfTemplate, decided: Callable[[TemplateSaved | None, int], Event]
    ) -> api.TemplateRecord:
        """The template with what was decided on its newest version; what is deleted comes back as it was."""
        for _ in range(TRIES):
            await self.catch_up()
            row = await self._row(ask.template_id)
            if row is not None and row["owner"] != ask.user:
                raise _missing()
            if row is not None and row["body"] is None:
                raise api.StoreError("unknown", "The template was deleted; its id is never used again.")
            before = event_of(row) if row else None
            try:
                event = decided(before, row["version"] + 1 if row else 1)
            except _Unchanged:
                event = None
            if event is None or await self._stored(event, row["position"] if row else 0):
                found = await self._row(ask.template_id)
                return _record(found if found and found["body"] is not None else {**(row or {})})
        raise LogDown("The log of templates does not answer.")

    async def _stored(self, event: Event, after: int) -> bool:
        """Append the event behind this position; whether it is the newest one. Raises StoreError (too_large)."""
        body = TEMPLATE_EVENT.dump_json(event)
        if len(body) > LARGEST:
            raise api.StoreError("too_large", f"The template has {len(body)} bytes; {LARGEST} are allowed.")
        try:
            raw = await self._library.append(event.id, body, after=after, last=isinstance(event, TemplateDeleted))
        except (VersionConflict, Indeterminate):
            return await self._is_newest(event.id, body)
        await self._database.work(lambda tx: apply(tx, (raw,)))
        return True

    async def _is_newest(self, template_id: str, body: bytes) -> bool:
        """Whether what was sent is stored after all."""
        await self.catch_up()
        row = await self._row(template_id)
        sent = TEMPLATE_EVENT.validate_json(body)
        if row is None or row["version"] != sent.version:
            return False
        return row["body"] is None if isinstance(sent, TemplateDeleted) else row["body"] == body_of(sent)

    async def _is_full(self, user: str) -> bool:
        query = select(func.count().label("number")).select_from(_of(user).subquery())
        [found] = await rows(self._database, query)
        return bool(found["number"] >= MOST)

    async def _row(self, template_id: str) -> RowMapping | None:
        found = await rows(self._database, select(templates).where(templates.c.id == template_id))
        return found[0] if found else None

    def _stamp(self, ask: api.OfTemplate, version: int) -> dict[str, Any]:
        told = {"id": ask.template_id, "version": version, "owner": ask.user, "actor": f"user:{ask.user}"}
        return {**told, "at": self._now()}


class _Unchanged(Exception):
    """It is stored already."""


def _of(user: str) -> Select[Any]:
    return select(templates).where(templates.c.owner == user, templates.c.body.is_not(None))


def _record(row: Mapping[Any, Any]) -> api.TemplateRecord:
    event = event_of(row)
    return api.TemplateRecord(
        id=event.id,
        version=event.version,
        template=event.template,
        fingerprints=event.fingerprints,
        schedule=event.schedule,
        next_run=row["next_run"],
        last_run=row["last_run"],
        at=event.at,
    )


def _as_expected(expected: int, newest: int) -> None:
    if expected != newest:
        raise api.StoreError("stale", f"Version {expected} is not the newest of the template; {newest} is.")


def _missing() -> api.StoreError:
    return api.StoreError("unknown", "There is no such template.")
