"""The rows of templates, as their log has them. A rebuild of the sessions' rows leaves them as they are."""

from collections.abc import Mapping, Sequence
from typing import Any

import structlog
from pydantic import ValidationError
from sqlalchemy import JSON, Column, Connection, Index, RowMapping, Table, select, text, update

from services.plan_store.columns import Count, Utc, Words
from services.plan_store.database import put_rows
from services.plan_store.tables import METADATA
from shared.library_log import TEMPLATE_EVENT, TemplateDeleted, TemplateSaved, subject_of
from shared.log import EXPECTED, StoredMessage
from shared.templates.schedules import next_after

log = structlog.get_logger("plan_store")
Event = TemplateSaved | TemplateDeleted

# Templates as the log of the library has them; `body` is the last message, without one it was deleted. What the keeper
# has done of the schedule is in `next_run` and `last_run`: the sessions that it began have ids that follow from both.
templates = Table(
    "templates",
    METADATA,
    Column("id", Words, primary_key=True),
    Column("position", Count, nullable=False),
    Column("version", Count, nullable=False),
    Column("owner", Words, nullable=False),
    Column("body", JSON(none_as_null=True)),
    Column("next_run", Utc),
    Column("last_run", JSON(none_as_null=True)),
    Column("at", Utc, nullable=False),
    Index(None, "owner", "at"),
    Index(None, "next_run"),
    Index(None, "position"),
)


def apply(tx: Connection, raws: Sequence[StoredMessage]) -> None:
    """The rows after these messages. Of one that is no template's, only the position counts."""
    if tx.dialect.name == "postgresql":
        tx.execute(text("LOCK TABLE templates IN SHARE ROW EXCLUSIVE MODE"))  # another plan_store may be at it, too
    for raw in raws:
        template_id = raw.subject.partition(".")[2]
        before = tx.execute(select(templates).where(templates.c.id == template_id)).mappings().first()
        if before is not None and raw.position <= before["position"]:
            continue
        event = _read(raw, before)
        if event is not None:
            put_rows(tx, templates, [_row(event, raw.position, before)])
        elif before is not None:
            tx.execute(update(templates).where(templates.c.id == template_id).values(position=raw.position))


def _read(raw: StoredMessage, before: RowMapping | None) -> Event | None:
    """The message as the template's next event; None for what somebody else put there."""
    try:
        event = TEMPLATE_EVENT.validate_json(raw.data)
    except ValidationError as error:
        log.warning("no_template", position=raw.position, problems=error.error_count())
        return None
    follows = raw.headers.get(EXPECTED) == str(before["position"] if before else 0)
    begins = before is None and isinstance(event, TemplateDeleted)  # those before are gone with it
    mine = before is None or (event.owner == before["owner"] and before["body"] is not None)
    if raw.subject == subject_of(event.id) and mine and (follows or begins):
        return event
    log.warning("not_of_the_template", position=raw.position, subject=raw.subject[:100])
    return None


def _row(event: Event, position: int, before: RowMapping | None) -> dict[str, Any]:
    schedule = event.schedule if isinstance(event, TemplateSaved) else None
    same = before is not None and before["body"] is not None and event_of(before).schedule == schedule
    return {
        "id": event.id,
        "position": position,
        "version": event.version,
        "owner": event.owner,
        "body": body_of(event) if isinstance(event, TemplateSaved) else None,
        "next_run": before["next_run"] if before and same else next_after(schedule, event.at) if schedule else None,
        "at": event.at,
    }


def body_of(event: Event | None) -> Any:
    return event.model_dump(mode="json") if event else None


def event_of(row: Mapping[Any, Any]) -> TemplateSaved:
    return TemplateSaved.model_validate(row["body"])
