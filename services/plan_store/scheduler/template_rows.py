"""The rows of templates, projected from their own log. A rebuild of the sessions' rows does not touch them."""

from collections.abc import Mapping, Sequence
from typing import Any

import structlog
from pydantic import ValidationError
from sqlalchemy import JSON, Column, Connection, Index, RowMapping, Table, select, text, update

from services.plan_store.columns import BoundedInteger, SafeText, UtcDateTime
from services.plan_store.database import upsert_rows
from services.plan_store.tables import METADATA
from shared.log import EXPECTED_SEQUENCE, StoredMessage
from shared.template_log import TEMPLATE_EVENT, TemplateDeleted, TemplateSaved, subject_of
from shared.templates.schedules import next_run_after

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
        "body": body_of(event) if isinstance(event, TemplateSaved) else None,
        "next_run": before["next_run"]
        if before and same_schedule
        else next_run_after(schedule, event.at)
        if schedule
        else None,
        "at": event.at,
    }


def body_of(event: TemplateEvent | None) -> Any:
    return event.model_dump(mode="json") if event else None


def event_of(row: Mapping[Any, Any]) -> TemplateSaved:
    return TemplateSaved.model_validate(row["body"])
