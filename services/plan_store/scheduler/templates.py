"""Templates: appended to their own log with a version guard, and read from rows.

The rows catch up with the log before every read: the log is small, and only plan_store writes it.
"""

import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any

import structlog
from pydantic import ValidationError
from sqlalchemy import JSON, Column, Connection, Index, RowMapping, Select, Table, func, select, text, update

from services.plan_store.database import ProjectionDatabase, upsert_rows
from services.plan_store.queries.sessions import page, rows
from services.plan_store.scheduler.clock import wall_clock
from services.plan_store.tables import METADATA, BoundedInteger, SafeText, UtcDateTime
from shared import store_api as api
from shared.domain.kernel.actors import USER_PREFIX
from shared.domain.kernel.errors import Invalid
from shared.log import EXPECTED_SEQUENCE, Indeterminate, LogUnavailable, StoredMessage, VersionConflict
from shared.template_log import (
    MAX_MESSAGE_BYTES,
    TEMPLATE_EVENT,
    TemplateDeleted,
    TemplateLog,
    TemplateSaved,
    subject_of,
)
from shared.templates.schedules import check_schedule, next_run_after

log = structlog.get_logger("plan_store")
TemplateEvent = TemplateSaved | TemplateDeleted

# `body` is the template's last event; NULL if it was deleted. The runner records progress in `next_run` and `last_run`.
# A run's session id follows from the template and the time that was due.
templates = Table(
    "templates",
    METADATA,
    Column("id", SafeText, primary_key=True),
    Column("position", BoundedInteger, nullable=False),
    Column("version", BoundedInteger, nullable=False),
    Column("owner", SafeText, nullable=False),
    Column("body", JSON(none_as_null=True)),
    Column("next_run", UtcDateTime),
    Column("last_run", JSON(none_as_null=True)),
    Column("at", UtcDateTime, nullable=False),
    Index(None, "owner", "at"),
    Index(None, "next_run"),
    Index(None, "position"),
)
MAX_TEMPLATES = 500  # templates of one user
MAX_ATTEMPTS = 5  # of an append


def apply(tx: Connection, raws: Sequence[StoredMessage]) -> None:
    """Apply these messages to the rows. A message that is not a template's event only advances the position."""
    if tx.dialect.name == "postgresql":
        # Another replica may project at the same time.
        tx.execute(text("LOCK TABLE templates IN SHARE ROW EXCLUSIVE MODE"))
    for raw in raws:
        template_id = raw.subject.partition(".")[2]
        before = tx.execute(select(templates).where(templates.c.id == template_id)).mappings().first()
        if before is not None and raw.position <= before["position"]:
            continue
        event = _read(raw, before)
        if event is not None:
            upsert_rows(tx, templates, [_row(event, raw.position, before)])
        elif before is not None:
            tx.execute(update(templates).where(templates.c.id == template_id).values(position=raw.position))


def _read(raw: StoredMessage, before: RowMapping | None) -> TemplateEvent | None:
    """The message as the template's next event; None if it is not one."""
    try:
        event = TEMPLATE_EVENT.validate_json(raw.data)
    except ValidationError as error:
        log.warning("no_template", position=raw.position, problems=error.error_count())
        return None
    follows = raw.headers.get(EXPECTED_SEQUENCE) == str(before["position"] if before else 0)
    is_first = before is None and isinstance(event, TemplateDeleted)  # its earlier events were deleted with it
    is_owners = before is None or (event.owner == before["owner"] and before["body"] is not None)
    if raw.subject == subject_of(event.id) and is_owners and (follows or is_first):
        return event
    log.warning("not_of_the_template", position=raw.position, subject=raw.subject[:100])
    return None


def _row(event: TemplateEvent, position: int, before: RowMapping | None) -> dict[str, Any]:
    schedule = event.schedule if isinstance(event, TemplateSaved) else None
    same_schedule = before is not None and before["body"] is not None and event_of(before).schedule == schedule
    return {
        "id": event.id,
        "position": position,
        "version": event.version,
        "owner": event.owner,
        "body": event.model_dump(mode="json") if isinstance(event, TemplateSaved) else None,
        "next_run": before["next_run"]
        if before and same_schedule
        else next_run_after(schedule, event.at)
        if schedule
        else None,
        "at": event.at,
    }


def event_of(row: Mapping[Any, Any]) -> TemplateSaved:
    return TemplateSaved.model_validate(row["body"])


class TemplateStore:
    """Only its owner can see a template. All methods raise StoreError, Unavailable."""

    def __init__(
        self,
        library: TemplateLog,
        database: ProjectionDatabase,
        now: Callable[[], datetime] = wall_clock,
    ) -> None:
        self._library = library
        self._database = database
        self._now = now

    async def save(self, ask: api.SaveTemplate) -> api.TemplateRecord:
        """Save a new template, or its next version."""
        full = await self._is_full(ask.user)

        def decide(before: TemplateSaved | None) -> TemplateEvent | None:
            if before is None and ask.expected:
                raise _not_found()
            if before is None and full:
                raise api.StoreError("full", f"You have {MAX_TEMPLATES} templates: delete some first.")
            if before is not None and before.template == ask.template and ask.expected in (0, before.version - 1):
                return None
            _require_version(ask.expected, before)
            carried_over = (
                {"schedule": before.schedule, "seed": before.seed} if before else {"seed": secrets.token_hex(16)}
            )
            content = {"template": ask.template, "fingerprints": ask.fingerprints}
            return TemplateSaved(**self._event_fields(ask, before), **content, **carried_over)

        await self._append(ask, decide)
        return await self.get(ask)

    async def schedule(self, ask: api.ScheduleTemplate) -> api.TemplateRecord:
        """Set or remove the template's schedule."""
        if ask.schedule is not None:
            try:
                check_schedule(ask.schedule, self._now())
            except Invalid as error:
                raise api.StoreError("bad_request", str(error)) from error

        def decide(before: TemplateSaved | None) -> TemplateEvent | None:
            if before is None:
                raise _not_found()
            if before.schedule == ask.schedule and ask.expected == before.version - 1:
                return None
            _require_version(ask.expected, before)
            return before.model_copy(update={**self._event_fields(ask, before), "schedule": ask.schedule})

        await self._append(ask, decide)
        return await self.get(ask)

    async def delete(self, ask: api.DeleteTemplate) -> api.TemplateDeletedReply:
        """Delete all versions of a template, and end its schedule. Its sessions stay. Deleting it again succeeds."""

        def decide(before: TemplateSaved | None) -> TemplateEvent:
            if before is None:
                raise _not_found()
            _require_version(ask.expected or before.version, before)
            return TemplateDeleted(**self._event_fields(ask, before))

        await self._append(ask, decide)
        return api.TemplateDeletedReply(template_id=ask.template_id)

    async def get(self, ask: api.TemplateRequest) -> api.TemplateRecord:
        await self.catch_up()
        row = await self._row(ask.template_id)
        if row is None or row["owner"] != ask.user or row["body"] is None:
            raise _not_found()
        return _record(row)

    async def list(self, ask: api.ListTemplates) -> api.TemplateRecords:
        await self.catch_up()
        order = (templates.c.at.desc(), templates.c.id)
        matches, total = await page(self._database, _templates_of(ask.user), order, ask.limit, ask.offset)
        return api.TemplateRecords(items=tuple(map(_record, matches)), total=total)

    async def catch_up(self) -> None:
        """Bring the rows up to date with the log."""
        [newest] = await rows(self._database, select(func.max(templates.c.position).label("position")))
        after = newest["position"] or 0
        while matches := await self._library.read(after=after):
            await self._database.run(lambda tx, raws=tuple(matches): apply(tx, raws))  # type: ignore[misc]
            after = matches[-1].position

    async def _append(
        self, ask: api.TemplateRequest, decide: Callable[[TemplateSaved | None], TemplateEvent | None]
    ) -> None:
        """Append the event that `decide` makes of the newest version. None: the newest version is its result already.

        After an append that lost to another writer, or whose result is unknown, it decides again.
        """
        for _ in range(MAX_ATTEMPTS):
            await self.catch_up()
            row = await self._row(ask.template_id)
            if row is not None and row["owner"] != ask.user:
                raise _not_found()
            if row is not None and row["body"] is None:
                if isinstance(ask, api.DeleteTemplate):
                    return
                raise api.StoreError("unknown", "The template was deleted; its id is never used again.")
            event = decide(event_of(row) if row else None)
            if event is None:
                return
            body, is_last = TEMPLATE_EVENT.dump_json(event), isinstance(event, TemplateDeleted)
            if len(body) > MAX_MESSAGE_BYTES:
                words = f"The template has {len(body)} bytes; {MAX_MESSAGE_BYTES} are allowed."
                raise api.StoreError("too_large", words)
            with suppress(VersionConflict, Indeterminate):
                await self._library.append(event.id, body, after=row["position"] if row else 0, last=is_last)
                return
        raise LogUnavailable("The log of templates does not answer.")

    async def _is_full(self, user: str) -> bool:
        query = select(func.count().label("number")).select_from(_templates_of(user).subquery())
        [matches] = await rows(self._database, query)
        return bool(matches["number"] >= MAX_TEMPLATES)

    async def _row(self, template_id: str) -> RowMapping | None:
        matches = await rows(self._database, select(templates).where(templates.c.id == template_id))
        return matches[0] if matches else None

    def _event_fields(self, ask: api.TemplateRequest, before: TemplateSaved | None) -> dict[str, Any]:
        version = before.version + 1 if before else 1
        content = {"id": ask.template_id, "version": version, "owner": ask.user, "actor": f"{USER_PREFIX}{ask.user}"}
        return {**content, "at": self._now()}


def _templates_of(user: str) -> Select[Any]:
    return select(templates).where(templates.c.owner == user, templates.c.body.is_not(None))


def _record(row: Mapping[Any, Any]) -> api.TemplateRecord:
    fields = {**row["body"], "next_run": row["next_run"], "last_run": row["last_run"]}
    return api.TemplateRecord(**{name: fields[name] for name in api.TemplateRecord.model_fields})


def _require_version(expected: int, before: TemplateSaved | None) -> None:
    newest = before.version if before else 0
    if expected != newest:
        raise api.StoreError("stale", f"Version {expected} is not the newest of the template; {newest} is.")


def _not_found() -> api.StoreError:
    return api.StoreError("unknown", "There is no such template.")
